"""serve.py DIR LOG: an HTTP server of the files in DIR that can go on where a download stopped; prints its port. While there is a file
"busy" in DIR, it has no time for paths that end with what it says."""
import http.server
import os
import re
import sys

os.chdir(sys.argv[1])


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        path = self.translate_path(self.path)
        if os.path.exists("busy") and self.path.endswith(open("busy").read()):
            self.send_response(503)
            self.send_header("Retry-After", "1")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if os.path.isdir(path):
            return super().do_GET()  # a list of its files
        if not os.path.isfile(path):
            return self.send_error(404)
        size = os.path.getsize(path)
        match = re.match(r"bytes=(\d+)-", self.headers.get("Range", ""))
        begin = int(match[1]) if match else 0
        if begin >= size and match:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{size}")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        self.send_response(206 if match else 200)
        if match:
            self.send_header("Content-Range", f"bytes {begin}-{size - 1}/{size}")
        self.send_header("Content-Length", str(size - begin))
        self.end_headers()
        with open(path, "rb") as file:
            file.seek(begin)
            self.wfile.write(file.read())

    def log_message(self, *_):
        with open(sys.argv[2], "a") as log:
            print(os.path.basename(self.path), self.headers.get("Range", "whole"), file=log)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()

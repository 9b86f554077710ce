/* parquet.cc - plug-in for Parquet and Arrow files (common/formats/columns.h), by Arrow's C++
 * library. */
#include <arrow/api.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/reader.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/future.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/arrow/writer.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

extern "C" {
#include "common/base/err.h"
#include "common/base/log.h"
#include "common/files/plugin.h"
#include "common/formats/columns.h"
}

namespace
{

using arrow::Result;
using arrow::Status;
using std::shared_ptr;

constexpr int64_t MEMORY_MOST = int64_t(4) << 30; /* a damaged file may ask for any size */
constexpr int64_t BATCH_BYTES = 1 << 20, BATCH_ROWS = 1024;
constexpr int64_t PUT_BYTES = 1 << 20, GROUP_BYTES = 32 << 20;
constexpr int ZSTD_LEVEL = 3;

/* ---- errors ---------------------------------------------------------------------------------- */

/* Sets the error to the first line of the library's message, without a full stop. */
int fail(const std::string &message)
{
    std::string line = message.substr(0, message.find('\n'));
    while (!line.empty() && (line.back() == '.' || line.back() == ' '))
        line.pop_back();
    return err_set("%s", line.empty() ? "unknown error of the Arrow library" : line.c_str());
}

/* Calls f, which returns a Status. Returns 0, or -1 with an error. `said` 1: a function of the
 * caller failed and has set the error. Exceptions are caught: none may leave the plug-in. */
template <class F> int guard(const bool &said, F f)
{
    try {
        Status status = f();
        if (status.ok())
            return 0;
        if (status.IsOutOfMemory())
            return err_set("memory ran out, or more than 4 GiB are needed at once");
        return said ? -1 : fail(status.message());
    } catch (const std::bad_alloc &) {
        return err_set("out of memory");
    } catch (const std::exception &e) {
        return said ? -1 : fail(e.what());
    } catch (...) {
        return said ? -1 : err_set("an error without a name");
    }
}

/* Ends the program: memory may run out in a function of the library that may not throw. */
[[noreturn]] void end()
{
    try {
        if (std::current_exception())
            std::rethrow_exception(std::current_exception());
        log_fatal("the Arrow library failed");
    } catch (const std::bad_alloc &) {
        log_fatal("out of memory");
    } catch (...) {
        log_fatal("an error of the Arrow library that cannot be caught");
    }
}

template <class T> void drop(T *made)
{
    delete made;
}

/* Makes a T and calls `begin` on it, which returns a Status. The constructor may throw, too, for
 * which std::nothrow is no remedy. Returns NULL with an error. */
template <class T, class F> T *make(F begin)
{
    T *made = nullptr;
    std::set_terminate(end);
    int result = guard(false, [&] {
        made = new T;
        return Status::OK();
    });
    if (!result && !guard(made->said, [&] { return begin(made); }))
        return made;
    drop(made);
    return nullptr;
}

/* ---- bytes of the caller --------------------------------------------------------------------- */

Status caller_failed(bool *said)
{
    *said = true;
    return Status::IOError("a function of the caller failed");
}

/* The common part of all files of the caller; Base is a file class of the library. */
template <class Base> class Place : public Base
{
  public:
    explicit Place(bool *said) : said_(said)
    {
    }
    Status Close() override
    {
        closed_ = true;
        return Status::OK();
    }
    bool closed() const override
    {
        return closed_;
    }
    Result<int64_t> Tell() const override
    {
        return at_;
    }

  protected:
    bool *said_;
    int64_t at_ = 0;

  private:
    bool closed_ = false;
};

/* A file that the caller reads. */
template <class Base> class Input : public Place<Base>
{
  public:
    Input(const columns_bytes &bytes, arrow::MemoryPool *pool, bool *said)
        : Place<Base>(said), bytes_(bytes), pool_(pool)
    {
    }
    Result<int64_t> Read(int64_t n, void *to) override = 0;
    Result<shared_ptr<arrow::Buffer>> Read(int64_t n) override
    {
        ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(inside(n), pool_));
        ARROW_ASSIGN_OR_RAISE(int64_t got, Read(n, buffer->mutable_data()));
        ARROW_RETURN_NOT_OK(buffer->Resize(got));
        return shared_ptr<arrow::Buffer>(std::move(buffer));
    }

  protected:
    /* Returns n, or the number of bytes that are left if that is known and smaller. */
    virtual int64_t inside(int64_t n) const
    {
        return n;
    }
    columns_bytes bytes_;

  private:
    arrow::MemoryPool *pool_;
};

/* A file that can be read anywhere. */
class File : public Input<arrow::io::RandomAccessFile>
{
  public:
    using Input::Input;
    using Input::Read;
    Result<int64_t> GetSize() override
    {
        return int64_t(bytes_.size);
    }
    Status Seek(int64_t at) override
    {
        if (at < 0)
            return Status::Invalid("it names a negative position");
        at_ = at;
        return Status::OK();
    }
    Result<int64_t> Read(int64_t n, void *to) override
    {
        n = inside(n);
        if (n && bytes_.read_at(bytes_.ctx, uint64_t(at_), to, size_t(n)) < 0)
            return caller_failed(said_);
        at_ += n;
        return n;
    }
    /* Reads at once. The library would read on a thread of its own, where errors of the caller are
     * lost and which may end after the reader. */
    using Bytes = arrow::Future<shared_ptr<arrow::Buffer>>;
    Bytes ReadAsync(const arrow::io::IOContext &, int64_t at, int64_t n) override
    {
        return Bytes::MakeFinished(ReadAt(at, n));
    }
    Bytes ReadAsync(const arrow::io::IOContext &, int64_t at, int64_t n, bool)
    {
        return Bytes::MakeFinished(ReadAt(at, n));
    }
    using RandomAccessFile::ReadAsync;

  private:
    int64_t inside(int64_t n) const override
    {
        int64_t left = std::max<int64_t>(int64_t(bytes_.size) - at_, 0);
        return std::clamp<int64_t>(n, 0, left);
    }
};

/* A file that is read from its beginning to its end. */
class Stream : public Input<arrow::io::InputStream>
{
  public:
    using Input::Input;
    using Input::Read;
    Result<int64_t> Read(int64_t n, void *to) override
    {
        int64_t done = 0;
        while (done < n) {
            char *next = static_cast<char *>(to) + done;
            int64_t got = bytes_.read(bytes_.ctx, next, size_t(n - done));
            if (got < 0)
                return caller_failed(said_);
            if (!got)
                break;
            remember(next, size_t(got));
            done += got;
        }
        at_ += done;
        return done;
    }
    /* Checks that the stream ends with its end mark and that nothing follows. The library takes the
     * end of the bytes for the end of the stream, so a file that was cut short could look whole. */
    Status check_end()
    {
        static const char mark[sizeof last_] = { '\xff', '\xff', '\xff', '\xff', 0, 0, 0, 0 };
        char more;
        if (memcmp(last_, mark, sizeof mark) != 0)
            return Status::Invalid("it has no end mark, so it was cut short");
        ARROW_ASSIGN_OR_RAISE(int64_t got, Read(1, &more));
        return got ? Status::Invalid("bytes follow its end mark") : Status::OK();
    }

  private:
    /* Keeps the last bytes that were read. */
    void remember(const char *bytes, size_t n)
    {
        size_t take = std::min(n, sizeof last_);
        memmove(last_, last_ + take, sizeof last_ - take);
        memcpy(last_ + sizeof last_ - take, bytes + n - take, take);
    }
    char last_[8] = {};
};

/* ---- columns --------------------------------------------------------------------------------- */

using Path = std::vector<std::string>; /* names of a field, from the outermost to its own */

const arrow::DataType &storage(const arrow::DataType &type)
{
    return type.id() == arrow::Type::EXTENSION
               ? storage(*static_cast<const arrow::ExtensionType &>(type).storage_type())
               : type;
}

shared_ptr<arrow::Array> storage(shared_ptr<arrow::Array> array)
{
    while (array->type_id() == arrow::Type::EXTENSION)
        array = static_cast<const arrow::ExtensionArray &>(*array).storage();
    return array;
}

bool is_text(const arrow::DataType &type)
{
    switch (type.id()) {
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW:
    case arrow::Type::FIXED_SIZE_BINARY:
    case arrow::Type::NA: /* a column without a value */ return true;
    case arrow::Type::DICTIONARY:
        return is_text(storage(*static_cast<const arrow::DictionaryType &>(type).value_type()));
    default: return false;
    }
}

/* Sets *path and *type to the field that `key` names; *path stays empty if there is none. Takes the
 * key for a name, or else splits it at a dot: a struct's name before it, a field's after. */
Status find(const arrow::FieldVector &fields, const std::string &key, Path *path,
            shared_ptr<arrow::DataType> *type)
{
    size_t count = 0;
    for (const auto &f : fields)
        if (f->name() == key) {
            count++;
            *type = f->type();
        }
    if (count > 1)
        return Status::Invalid(count, " columns have the name \"", key, "\"");
    if (count) {
        path->push_back(key);
        return Status::OK();
    }
    for (size_t point = key.find('.'); point != key.npos; point = key.find('.', point + 1)) {
        Path outer;
        shared_ptr<arrow::DataType> inside;
        for (const auto &f : fields)
            if (f->name() == key.substr(0, point) &&
                storage(*f->type()).id() == arrow::Type::STRUCT)
                ARROW_RETURN_NOT_OK(find(fields, f->name(), &outer, &inside));
        if (outer.empty())
            continue;
        ARROW_RETURN_NOT_OK(find(storage(*inside).fields(), key.substr(point + 1), &outer, type));
        if (outer.size() > 1) {
            path->insert(path->end(), outer.begin(), outer.end());
            return Status::OK();
        }
    }
    return Status::OK();
}

Status resolve(const arrow::Schema &schema, const std::string &key, Path *path)
{
    shared_ptr<arrow::DataType> type;
    std::string names;
    ARROW_RETURN_NOT_OK(find(schema.fields(), key, path, &type));
    if (path->empty()) {
        for (const auto &f : schema.fields())
            names += (names.empty() ? "" : ", ") + f->name();
        return Status::Invalid("no column \"", key, "\": the table has ",
                               names.empty() ? "none" : names);
    }
    return is_text(storage(*type))
               ? Status::OK()
               : Status::Invalid("column \"", key, "\" holds no text, but ", type->ToString());
}

/* Returns the array as bytes, so that the library checks its offsets but not its UTF-8. */
Result<shared_ptr<arrow::Array>> as_bytes(shared_ptr<arrow::Array> array)
{
    array = storage(array);
    shared_ptr<arrow::DataType> type = array->type_id() == arrow::Type::STRING ? arrow::binary()
                                       : array->type_id() == arrow::Type::LARGE_STRING
                                           ? arrow::large_binary()
                                       : array->type_id() == arrow::Type::STRING_VIEW
                                           ? arrow::binary_view()
                                           : nullptr;
    if (type) {
        ARROW_ASSIGN_OR_RAISE(array, array->View(type));
    }
    ARROW_RETURN_NOT_OK(array->ValidateFull());
    return array;
}

/* One column of the current batch. */
class Column
{
  public:
    Path path;

    Status set(const arrow::RecordBatch &batch)
    {
        shared_ptr<arrow::Array> array = batch.GetColumnByName(path[0]);
        around_.clear();
        indices_.reset();
        if (!array)
            return Status::Invalid("a batch lacks column \"", path[0], "\"");
        ARROW_RETURN_NOT_OK(array->Validate());
        if (array->length() != batch.num_rows())
            return Status::Invalid("a column is shorter than its batch");
        for (size_t i = 1; i < path.size(); i++) {
            array = storage(array);
            around_.push_back(array);
            array = static_cast<const arrow::StructArray &>(*array).GetFieldByName(path[i]);
            if (!array)
                return Status::Invalid("a batch lacks column \"", path[i], "\"");
        }
        array = storage(array);
        if (array->type_id() == arrow::Type::DICTIONARY) {
            indices_ = array;
            array = static_cast<const arrow::DictionaryArray &>(*array).dictionary();
        }
        ARROW_ASSIGN_OR_RAISE(values_, as_bytes(array));
        return Status::OK();
    }

    Status get(int64_t row, columns_cell *cell) const
    {
        *cell = {};
        for (const auto &a : around_)
            if (a->IsNull(row))
                return Status::OK();
        if (indices_) {
            if (indices_->IsNull(row))
                return Status::OK();
            row = static_cast<const arrow::DictionaryArray &>(*indices_).GetValueIndex(row);
            if (row < 0 || row >= values_->length())
                return Status::Invalid("an index is outside its dictionary");
        }
        if (values_->IsNull(row))
            return Status::OK();
        std::string_view text = value(row);
        cell->text = text.data() ? text.data() : "";
        cell->len = text.size();
        return Status::OK();
    }

  private:
    std::string_view value(int64_t row) const
    {
        switch (values_->type_id()) {
        case arrow::Type::LARGE_BINARY:
            return static_cast<const arrow::LargeBinaryArray &>(*values_).GetView(row);
        case arrow::Type::BINARY_VIEW:
            return static_cast<const arrow::BinaryViewArray &>(*values_).GetView(row);
        case arrow::Type::FIXED_SIZE_BINARY:
            return static_cast<const arrow::FixedSizeBinaryArray &>(*values_).GetView(row);
        default: return static_cast<const arrow::BinaryArray &>(*values_).GetView(row);
        }
    }
    std::vector<shared_ptr<arrow::Array>> around_; /* the structs around the column */
    shared_ptr<arrow::Array> indices_;             /* if the column has a dictionary */
    shared_ptr<arrow::Array> values_;
};

/* ---- batches --------------------------------------------------------------------------------- */

/* Yields the batches of a file. */
class Batches
{
  public:
    virtual ~Batches() = default;
    virtual Result<shared_ptr<arrow::RecordBatch>> next() = 0; /* nullptr at the end */
};

class ParquetBatches : public Batches
{
  public:
    /* columns: NULL for all that the file has */
    static Result<std::unique_ptr<ParquetBatches>> open(shared_ptr<File> file,
                                                        arrow::MemoryPool *pool,
                                                        std::vector<Column> *columns)
    {
        std::unique_ptr<ParquetBatches> b(new ParquetBatches);
        parquet::ReaderProperties how(pool);
        how.enable_buffered_stream(); /* a row group may be larger than the memory */
        how.set_buffer_size(PUT_BYTES);
        how.set_page_checksum_verification(true);
        parquet::arrow::FileReaderBuilder builder;
        ARROW_RETURN_NOT_OK(builder.Open(file, how));
        parquet::ArrowReaderProperties arrow_how(false);
        arrow_how.set_pre_buffer(false);
        arrow_how.set_arrow_extensions_enabled(true); /* a copy keeps UUID and JSON */
        arrow_how.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO); /* ns end in 2262 */
        ARROW_RETURN_NOT_OK(builder.memory_pool(pool)->properties(arrow_how)->Build(&b->file_));
        std::vector<int> leaves;
        if (columns)
            ARROW_RETURN_NOT_OK(b->choose(columns, &leaves));
        for (int i = 0; !columns && i < b->file_->parquet_reader()->metadata()->num_columns(); i++)
            leaves.push_back(i);
        ARROW_RETURN_NOT_OK(b->check_rows());
        b->file_->set_batch_size(b->batch_rows(leaves));
        std::vector<int> groups(size_t(b->file_->num_row_groups()));
        for (size_t i = 0; i < groups.size(); i++)
            groups[i] = int(i);
        ARROW_ASSIGN_OR_RAISE(b->reader_, b->file_->GetRecordBatchReader(groups, leaves));
        return b;
    }
    shared_ptr<arrow::Schema> schema() const
    {
        return reader_->schema();
    }
    Result<shared_ptr<arrow::RecordBatch>> next() override
    {
        shared_ptr<arrow::RecordBatch> batch;
        ARROW_RETURN_NOT_OK(reader_->ReadNext(&batch));
        return batch;
    }

  private:
    /* Sets *leaves to the indices of the columns among the leaf columns of the schema. */
    Status choose(std::vector<Column> *columns, std::vector<int> *leaves)
    {
        shared_ptr<arrow::Schema> schema;
        ARROW_RETURN_NOT_OK(file_->GetSchema(&schema));
        for (Column &c : *columns) {
            Path path;
            ARROW_RETURN_NOT_OK(resolve(*schema, c.path[0], &path));
            const auto *fields = &file_->manifest().schema_fields;
            int leaf = -1;
            for (const std::string &name : path)
                for (const auto &f : *fields)
                    if (f.field->name() == name) {
                        leaf = f.column_index;
                        fields = &f.children;
                        break;
                    }
            if (leaf < 0)
                return Status::Invalid("column \"", c.path[0], "\" has no values");
            leaves->push_back(leaf);
            c.path = path;
        }
        std::sort(leaves->begin(), leaves->end());
        leaves->erase(std::unique(leaves->begin(), leaves->end()), leaves->end());
        return Status::OK();
    }
    /* Checks the row groups' numbers of rows: the footer, which has them, has no checksum. */
    Status check_rows() const
    {
        auto about = file_->parquet_reader()->metadata();
        int64_t left = about->num_rows();
        for (int g = 0; g < about->num_row_groups() && left >= 0; g++) {
            int64_t rows = about->RowGroup(g)->num_rows();
            left -= rows < 0 ? INT64_MAX : rows;
        }
        return left ? Status::Invalid("damaged: its row groups do not add up to its rows")
                    : Status::OK();
    }
    /* Returns how many rows have about BATCH_BYTES together, in the row group with the longest
     * ones. */
    int64_t batch_rows(const std::vector<int> &leaves) const
    {
        auto about = file_->parquet_reader()->metadata();
        int64_t rows = BATCH_ROWS;
        for (int g = 0; g < about->num_row_groups(); g++) {
            auto group = about->RowGroup(g);
            int64_t bytes = 0;
            for (int leaf : leaves)
                bytes += std::clamp<int64_t>(group->ColumnChunk(leaf)->total_uncompressed_size(), 0,
                                             INT64_MAX / (int64_t(leaves.size()) + 1));
            int64_t a_row = bytes / std::max<int64_t>(group->num_rows(), 1) + 1;
            rows = std::min(rows, std::max<int64_t>(BATCH_BYTES / a_row, 1));
        }
        return rows;
    }
    std::unique_ptr<parquet::arrow::FileReader> file_;
    shared_ptr<arrow::RecordBatchReader> reader_;
};

arrow::ipc::IpcReadOptions ipc_options(arrow::MemoryPool *pool)
{
    arrow::ipc::IpcReadOptions how;
    how.use_threads = false;
    how.memory_pool = pool;
    return how;
}

/* Resolves the columns in the schema. Sets *fields to the numbers of the top-level columns. */
Status choose(const arrow::Schema &schema, std::vector<Column> *columns, std::vector<int> *fields)
{
    for (Column &c : *columns) {
        Path path;
        ARROW_RETURN_NOT_OK(resolve(schema, c.path[0], &path));
        c.path = path;
        fields->push_back(schema.GetFieldIndex(path[0]));
    }
    std::sort(fields->begin(), fields->end());
    fields->erase(std::unique(fields->begin(), fields->end()), fields->end());
    return Status::OK();
}

class FileBatches : public Batches
{
  public:
    static Result<std::unique_ptr<Batches>> open(shared_ptr<File> file, arrow::MemoryPool *pool,
                                                 std::vector<Column> *columns)
    {
        std::unique_ptr<FileBatches> b(new FileBatches);
        auto how = ipc_options(pool);
        ARROW_ASSIGN_OR_RAISE(b->reader_, arrow::ipc::RecordBatchFileReader::Open(file, how));
        ARROW_RETURN_NOT_OK(choose(*b->reader_->schema(), columns, &how.included_fields));
        ARROW_ASSIGN_OR_RAISE(b->reader_, arrow::ipc::RecordBatchFileReader::Open(file, how));
        return std::unique_ptr<Batches>(std::move(b));
    }
    Result<shared_ptr<arrow::RecordBatch>> next() override
    {
        if (next_ == reader_->num_record_batches())
            return nullptr;
        return reader_->ReadRecordBatch(next_++);
    }

  private:
    shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
    int next_ = 0;
};

class StreamBatches : public Batches
{
  public:
    static Result<std::unique_ptr<Batches>> open(shared_ptr<Stream> stream, arrow::MemoryPool *pool,
                                                 std::vector<Column> *columns)
    {
        std::unique_ptr<StreamBatches> b(new StreamBatches);
        std::vector<int> fields;
        b->stream_ = stream;
        ARROW_ASSIGN_OR_RAISE(b->reader_,
                              arrow::ipc::RecordBatchStreamReader::Open(stream, ipc_options(pool)));
        ARROW_RETURN_NOT_OK(choose(*b->reader_->schema(), columns, &fields));
        return std::unique_ptr<Batches>(std::move(b));
    }
    Result<shared_ptr<arrow::RecordBatch>> next() override
    {
        shared_ptr<arrow::RecordBatch> batch;
        ARROW_RETURN_NOT_OK(reader_->ReadNext(&batch));
        if (!batch)
            ARROW_RETURN_NOT_OK(stream_->check_end());
        return batch;
    }

  private:
    shared_ptr<Stream> stream_;
    shared_ptr<arrow::ipc::RecordBatchStreamReader> reader_;
};

} // namespace

/* ---- the plug-in's reader -------------------------------------------------------------------- */

struct columns_reader {
    bool said = false;
    arrow::CappedMemoryPool pool{ arrow::default_memory_pool(), MEMORY_MOST };
    std::vector<Column> columns;
    std::unique_ptr<Batches> batches;
    shared_ptr<arrow::RecordBatch> batch;
    int64_t row = 0;
};

static Status open_batches(columns_reader *r, enum columns_kind kind, const columns_bytes &bytes)
{
    if (kind == COLUMNS_ARROW_STREAM) {
        auto stream = std::make_shared<Stream>(bytes, &r->pool, &r->said);
        ARROW_ASSIGN_OR_RAISE(r->batches, StreamBatches::open(stream, &r->pool, &r->columns));
        return Status::OK();
    }
    auto file = std::make_shared<File>(bytes, &r->pool, &r->said);
    if (kind == COLUMNS_ARROW_FILE) {
        ARROW_ASSIGN_OR_RAISE(r->batches, FileBatches::open(file, &r->pool, &r->columns));
    } else {
        ARROW_ASSIGN_OR_RAISE(r->batches, ParquetBatches::open(file, &r->pool, &r->columns));
    }
    return Status::OK();
}

static struct columns_reader *open_reader(enum columns_kind kind, const struct columns_bytes *bytes,
                                          const char *const *names, size_t count)
{
    return make<columns_reader>([&](columns_reader *r) {
        for (size_t i = 0; i < count; i++) {
            r->columns.emplace_back();
            r->columns.back().path.push_back(names[i]);
        }
        return open_batches(r, kind, *bytes);
    });
}

/* Reads batches until one has rows. Sets *more to whether there is one. */
static Status next_batch(columns_reader *r, bool *more)
{
    r->row = 0;
    do {
        ARROW_ASSIGN_OR_RAISE(r->batch, r->batches->next());
        *more = r->batch != nullptr;
    } while (*more && !r->batch->num_rows());
    if (*more)
        for (Column &c : r->columns)
            ARROW_RETURN_NOT_OK(c.set(*r->batch));
    return Status::OK();
}

static int read_row(struct columns_reader *r, struct columns_cell *cells)
{
    bool more = true;
    int result = guard(r->said, [&] {
        if (!r->batch || r->row == r->batch->num_rows())
            ARROW_RETURN_NOT_OK(next_batch(r, &more));
        if (!more)
            return Status::OK();
        for (Column &c : r->columns)
            ARROW_RETURN_NOT_OK(c.get(r->row, cells++));
        r->row++;
        return Status::OK();
    });
    return result < 0 ? -1 : more;
}

/* ---- the plug-in's writer -------------------------------------------------------------------- */

namespace
{

/* A file that the caller writes. */
class Out : public Place<arrow::io::OutputStream>
{
  public:
    Out(columns_put *put, void *ctx, bool *said) : Place(said), put_(put), ctx_(ctx)
    {
    }
    Status Write(const void *bytes, int64_t n) override
    {
        at_ += n;
        return *said_ || put_(ctx_, bytes, size_t(n)) < 0 ? caller_failed(said_) : Status::OK();
    }

  private:
    columns_put *put_;
    void *ctx_;
};

/* Begins a Parquet file. types: also stores the types of Arrow, where those of Parquet say less. */
Status open_file(const arrow::Schema &schema, shared_ptr<Out> out,
                 parquet::WriterProperties::Builder *how, bool types,
                 std::unique_ptr<parquet::arrow::FileWriter> *file)
{
    how->compression(parquet::Compression::ZSTD)
        ->compression_level(ZSTD_LEVEL)
        ->enable_page_checksum();
    parquet::ArrowWriterProperties::Builder arrow_how;
    if (types)
        arrow_how.store_schema();
    ARROW_ASSIGN_OR_RAISE(*file,
                          parquet::arrow::FileWriter::Open(schema, arrow::default_memory_pool(),
                                                           out, how->build(), arrow_how.build()));
    return Status::OK();
}

/* Adds a batch, whose values take about `bytes`, to the file. A row group's packed pages stay in
 * memory until it ends. *group_bytes: bytes of the values in the current row group. */
Status put_batch(parquet::arrow::FileWriter *file, const arrow::RecordBatch &batch, int64_t bytes,
                 int64_t *group_bytes)
{
    if (!*group_bytes)
        ARROW_RETURN_NOT_OK(file->NewBufferedRowGroup());
    ARROW_RETURN_NOT_OK(file->WriteRecordBatch(batch));
    *group_bytes += bytes;
    if (*group_bytes >= GROUP_BYTES)
        *group_bytes = 0;
    return Status::OK();
}

} // namespace

struct columns_writer {
    bool said = false;
    shared_ptr<arrow::Schema> schema;
    std::vector<std::unique_ptr<arrow::StringBuilder>> cells;
    std::unique_ptr<parquet::arrow::FileWriter> file;
    int64_t rows = 0, bytes = 0; /* in `cells` */
    int64_t group_bytes = 0;     /* written to the current row group */

    /* Makes the writes of an unfinished file fail: its destructor would write an end. */
    ~columns_writer()
    {
        said = true;
    }
};

static Status begin_file(columns_writer *w, const char *const *names, size_t count,
                         columns_put *put, void *ctx)
{
    arrow::FieldVector fields;
    for (size_t i = 0; i < count; i++) {
        fields.push_back(arrow::field(names[i], arrow::utf8()));
        w->cells.push_back(std::make_unique<arrow::StringBuilder>());
    }
    w->schema = arrow::schema(fields);
    parquet::WriterProperties::Builder how;
    how.disable_dictionary(); /* nearly every value differs: a dictionary would only cost time */
    auto out = std::make_shared<Out>(put, ctx, &w->said);
    return open_file(*w->schema, out, &how, false, &w->file);
}

/* Passes the collected rows to the file. */
static Status flush(columns_writer *w)
{
    arrow::ArrayVector arrays(w->cells.size());
    if (!w->rows)
        return Status::OK();
    for (size_t i = 0; i < arrays.size(); i++)
        ARROW_RETURN_NOT_OK(w->cells[i]->Finish(&arrays[i]));
    auto batch = arrow::RecordBatch::Make(w->schema, w->rows, arrays);
    ARROW_RETURN_NOT_OK(put_batch(w->file.get(), *batch, w->bytes, &w->group_bytes));
    w->rows = w->bytes = 0;
    return Status::OK();
}

static struct columns_writer *create_writer(const char *const *names, size_t count,
                                            columns_put *put, void *ctx)
{
    return make<columns_writer>(
        [&](columns_writer *w) { return begin_file(w, names, count, put, ctx); });
}

static int add_row(struct columns_writer *w, const struct columns_cell *cells)
{
    return guard(w->said, [&] {
        for (auto &to : w->cells) {
            if (cells->len > INT_MAX)
                return Status::Invalid("a text is longer than 2 GiB");
            ARROW_RETURN_NOT_OK(cells->text ? to->Append(cells->text, int32_t(cells->len))
                                            : to->AppendNull());
            w->bytes += int64_t(cells++->len);
        }
        w->rows++;
        return w->bytes < PUT_BYTES ? Status::OK() : flush(w);
    });
}

static int finish_file(struct columns_writer *w)
{
    return guard(w->said, [&] {
        ARROW_RETURN_NOT_OK(flush(w));
        return w->file->Close();
    });
}

/* ---- the plug-in's copy ---------------------------------------------------------------------- */

struct columns_copy {
    bool said = false;
    arrow::CappedMemoryPool pool{ arrow::default_memory_pool(), MEMORY_MOST };
    std::string text, mark; /* names of columns; "": no mark */
    columns_put *put;
    void *ctx;
    std::unique_ptr<ParquetBatches> in;
    shared_ptr<arrow::RecordBatch> batch;
    int64_t row = 0;                           /* the row of the batch that comes next */
    Column column;                             /* the text */
    shared_ptr<arrow::Schema> schema, written; /* of the files that are read; of the copy */
    std::unique_ptr<parquet::arrow::FileWriter> file;
    int64_t group_bytes = 0;
    std::vector<int64_t> kept; /* rows of the batch */
    arrow::StringBuilder texts, marks;

    ~columns_copy()
    {
        said = true; /* as in columns_writer */
    }
};

/* Chooses the columns of the copy, and begins it. */
static Status begin_copy(columns_copy *c)
{
    Path path;
    ARROW_RETURN_NOT_OK(resolve(*c->schema, c->text, &path));
    if (path.size() > 1)
        return Status::Invalid("column \"", c->text,
                               "\" is inside another: its text cannot change");
    c->column.path = path;
    arrow::FieldVector fields;
    for (const auto &f : c->schema->fields())
        if (f->name() == c->text)
            fields.push_back(arrow::field(c->text, arrow::utf8(), true, f->metadata()));
        else if (f->name() != c->mark)
            fields.push_back(f);
    if (!c->mark.empty())
        fields.push_back(arrow::field(c->mark, arrow::utf8()));
    c->written = arrow::schema(fields, c->schema->metadata());
    parquet::WriterProperties::Builder how;
    how.disable_dictionary(c->text);
    return open_file(*c->written, std::make_shared<Out>(c->put, c->ctx, &c->said), &how, true,
                     &c->file);
}

/* Returns the kept rows of a column. */
static Result<shared_ptr<arrow::Array>> keep(const columns_copy &c, const arrow::Array &column)
{
    arrow::ArrayVector runs;
    for (size_t i = 0, n; i < c.kept.size(); i += n) {
        for (n = 1; i + n < c.kept.size() && c.kept[i + n] == c.kept[i] + int64_t(n);)
            n++;
        runs.push_back(column.Slice(c.kept[i], int64_t(n)));
    }
    return runs.size() == 1 ? runs[0] : arrow::Concatenate(runs);
}

/* Writes the kept rows of the batch. */
static Status put_kept(columns_copy *c)
{
    arrow::ArrayVector arrays;
    if (c->kept.empty())
        return Status::OK();
    for (const auto &f : c->written->fields()) {
        shared_ptr<arrow::Array> array;
        if (f->name() == c->text) {
            ARROW_RETURN_NOT_OK(c->texts.Finish(&array));
        } else if (f->name() == c->mark) {
            ARROW_RETURN_NOT_OK(c->marks.Finish(&array));
        } else {
            ARROW_ASSIGN_OR_RAISE(array, keep(*c, *c->batch->GetColumnByName(f->name())));
        }
        arrays.push_back(array);
    }
    auto batch = arrow::RecordBatch::Make(c->written, int64_t(c->kept.size()), arrays);
    int64_t bytes = arrow::util::ReferencedBufferSize(*batch).ValueOr(BATCH_BYTES);
    c->kept.clear();
    return put_batch(c->file.get(), *batch, bytes, &c->group_bytes);
}

/* Goes on to the next row. Sets *more to whether there is one. */
static Status next_row(columns_copy *c, bool *more)
{
    *more = c->in != nullptr;
    while (*more && (!c->batch || c->row == c->batch->num_rows())) {
        ARROW_RETURN_NOT_OK(put_kept(c));
        ARROW_ASSIGN_OR_RAISE(c->batch, c->in->next());
        c->row = 0;
        *more = c->batch != nullptr;
        if (*more) {
            ARROW_RETURN_NOT_OK(c->batch->ValidateFull());
            ARROW_RETURN_NOT_OK(c->column.set(*c->batch));
        }
    }
    return Status::OK();
}

static Status end_input(columns_copy *c)
{
    bool more;
    ARROW_RETURN_NOT_OK(next_row(c, &more));
    return more ? Status::Invalid("a file got more rows while it was read") : Status::OK();
}

/* Returns an error that names the first column that differs. */
static Status other_columns(const arrow::Schema &had, const arrow::Schema &has)
{
    for (int i = 0; i < had.num_fields() && i < has.num_fields(); i++)
        if (!had.field(i)->Equals(*has.field(i)))
            return Status::Invalid("its column ", i + 1, " is ", has.field(i)->ToString(),
                                   ", but that of the files before is ", had.field(i)->ToString());
    return Status::Invalid("it has ", has.num_fields(), " columns, but the files before have ",
                           had.num_fields());
}

static Status names_occur_once(const arrow::Schema &schema)
{
    for (const auto &f : schema.fields())
        if (schema.GetAllFieldIndices(f->name()).size() > 1)
            return Status::Invalid("two columns have the name \"", f->name(), "\"");
    return Status::OK();
}

static Status open_copied(columns_copy *c, const columns_bytes &bytes)
{
    ARROW_RETURN_NOT_OK(end_input(c));
    auto file = std::make_shared<File>(bytes, &c->pool, &c->said);
    ARROW_ASSIGN_OR_RAISE(c->in, ParquetBatches::open(file, &c->pool, nullptr));
    c->batch = nullptr;
    if (c->schema)
        return c->schema->Equals(*c->in->schema(), false)
                   ? Status::OK()
                   : other_columns(*c->schema, *c->in->schema());
    c->schema = c->in->schema();
    ARROW_RETURN_NOT_OK(names_occur_once(*c->schema));
    return begin_copy(c);
}

static struct columns_copy *new_copy(const char *text, const char *mark, columns_put *put,
                                     void *ctx)
{
    return make<columns_copy>([&](columns_copy *c) {
        c->put = put;
        c->ctx = ctx;
        c->text = text;
        c->mark = mark ? mark : "";
        return Status::OK();
    });
}

static int copy_file(struct columns_copy *c, const struct columns_bytes *bytes)
{
    return guard(c->said, [&] { return open_copied(c, *bytes); });
}

static Status copy(columns_copy *c, bool keep, const columns_cell *text, const char *mark)
{
    bool more;
    columns_cell as_read;
    ARROW_RETURN_NOT_OK(next_row(c, &more));
    if (!more)
        return Status::Invalid("a file lost rows while it was read");
    if (keep) {
        ARROW_RETURN_NOT_OK(c->column.get(c->row, &as_read));
        if (!text)
            text = &as_read;
        if (text->len > INT_MAX)
            return Status::Invalid("a text is longer than 2 GiB");
        ARROW_RETURN_NOT_OK(text->text ? c->texts.Append(text->text, int32_t(text->len))
                                       : c->texts.AppendNull());
        if (!c->mark.empty())
            ARROW_RETURN_NOT_OK(c->marks.Append(mark, int32_t(strlen(mark))));
        c->kept.push_back(c->row);
    }
    c->row++;
    return Status::OK();
}

static int copy_row(struct columns_copy *c, int keep, const struct columns_cell *text,
                    const char *mark)
{
    return guard(c->said, [&] { return copy(c, keep, text, mark); });
}

static int end_copy(struct columns_copy *c)
{
    return guard(c->said, [&] {
        ARROW_RETURN_NOT_OK(end_input(c));
        return c->file ? c->file->Close() : Status::OK();
    });
}

static const struct columns functions = {
    open_reader, read_row, drop,      create_writer, add_row,  finish_file,
    drop,        new_copy, copy_file, copy_row,      end_copy, drop,
};

extern "C" __attribute__((visibility("default"))) const struct plugin textmill_plugin;
const struct plugin textmill_plugin = { COLUMNS_LAYOUT, &functions };

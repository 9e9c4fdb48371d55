# make        build into ./build (installs missing Debian packages first)
# make demo   the demo programs in GDB and in LLDB
# make test   unit and session tests; ends with ctest's summary
# make install builds and installs below PREFIX (default: /usr/local)
# make uninstall takes away what make install has put below PREFIX
# make deb    Debian packages of this suite in build/deb (LLDBS='14 19': plugins for these only)
# make deb-test  installs, tries and removes them in a bare Debian of this suite; needs root
# make docs    writes docs/commands.md from the command table
# make bench  the cost of an event beside callbacks written by hand and other recorders; needs a quiet machine and
#             3-4 minutes
# make format rewrites the C and C++ sources by .clang-format
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)

.PHONY: all packages build demo test install bench docs format clean uninstall deb deb-test

all: build

packages:
	@tests/install.sh

build: packages
	@cmake -S . -B $(BUILD) -G Ninja -Wno-dev --log-level=WARNING
	@cmake --build $(BUILD) -j $(JOBS)

demo: build
	@tests/demo/run $(BUILD)

# LLDB 14 cannot be installed beside LLDB 19; a test run without it says so.
test: packages
	@tests/lldb14.sh $(BUILD)/lldb-14
	@tests/libcxx.sh $(BUILD)/libcxx
	@tests/qt.sh $(BUILD)/qt
	@$(MAKE) --no-print-directory build
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j $(JOBS) </dev/null

install: build
	@python3 -B packaging/prefix.py install $(BUILD) $(PREFIX)

docs: build
	python3 -B docs/generate_commands.py $(BUILD)/core/librefhist.so > docs/commands.md.new
	mv docs/commands.md.new docs/commands.md

bench: build
	@python3 -B tests/bench/run.py $(BUILD)
	@python3 -B tests/bench/agent.py $(BUILD)
	@python3 -B tests/bench/programs.py $(BUILD)
	@$(BUILD)/tests/bench/bench_stack_capture
	@$(BUILD)/tests/bench/bench_store
	@$(BUILD)/tests/bench/bench_store --bounded 30000000

format:
	git ls-files '*.c' '*.cpp' '*.h' | xargs clang-format-14 -i

clean:
	rm -rf $(BUILD)

uninstall:
	@python3 -B packaging/prefix.py uninstall $(PREFIX)

deb:
	@packaging/deb.sh $(BUILD) $(JOBS)

deb-test: deb
	@tests/deb/run $(BUILD)/deb

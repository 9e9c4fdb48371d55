# make        build into ./build (installs missing Debian packages first)
# make demo   the demo programs in GDB and in LLDB; builds no more than they need
# make fleet-demo  40 runs of three commits of the demo client in a database (PostgreSQL), and what it answers
# make demo-kernel  the life of an open file in Debian's kernel in QEMU, in GDB and in LLDB (340 MB to load, once)
# make test-kernel  what refhist counts in that kernel against what the kernel counts itself (docs/kernel.md)
# make test   unit and session tests; ends with ctest's summary
# make test-all  the same, and each variant of a session's program with every debugger and way of recording
# make install builds and installs below PREFIX (default: /usr/local)
# make uninstall takes away what make install has put below PREFIX
# make deb    Debian packages of this suite in build/deb (LLDBS='14 19': plugins for these only)
# make deb-test  installs, tries and removes them in a bare Debian of this suite; needs root
# make docs    writes docs/commands.md from the command table
# make bench  prints the tables of docs/performance.md: what an event costs beside other recorders, whole programs, the
#             history. It says first what it measures, how long that takes and what it leaves out. Needs a quiet machine
# make bench-page does the same and writes the tables into docs/performance.md
# make bench-growth  prints how the cost grows with events, objects, findings, threads, libraries, children, sites, rules, depth
#             (GROWTH='--only sites --debugger GDB' for a part of it)
# make accuracy  prints how often refhist is right on programs whose mistakes are known (an hour; tests/accuracy/README.md)
# make accuracy-page does the same and writes docs/accuracy.md
# make format rewrites the C and C++ sources by .clang-format
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
# CI says -DREFHIST_WERROR=ON.
CMAKE_OPTIONS ?=

configure = cmake -S . -B $(BUILD) -G Ninja -Wno-dev --log-level=WARNING $(CMAKE_OPTIONS)

.PHONY: all build demo demo-kernel fleet-demo tests test test-all test-kernel install uninstall deb deb-test bench bench-page bench-growth bench-programs accuracy accuracy-page accuracy-programs docs format clean

all: build

build:
	@tests/install.sh build
	@$(configure)
	@cmake --build $(BUILD) -j $(JOBS)

demo:
	@tests/install.sh build demo
	@$(configure)
	@cmake --build $(BUILD) -j $(JOBS) --target refhist_demo
	@tests/demo/run $(BUILD)

kernel-programs:
	@tests/install.sh build demo kernel
	@$(configure)
	@cmake --build $(BUILD) -j $(JOBS) --target refhist_gdb refhist_lldb

demo-kernel: kernel-programs
	@python3 -B tests/kernel/demo.py $(BUILD) $(BUILD)/kernel || [ $$? -eq 77 ]

test-kernel: kernel-programs
	@python3 -B tests/kernel/check.py $(BUILD) $(BUILD)/kernel || [ $$? -eq 77 ]

fleet-demo:
	@tests/install.sh build demo -- postgresql git
	@$(configure)
	@cmake --build $(BUILD) -j $(JOBS) --target refhist_demo refhist-run refhist-exec refhist-open refhist-fleet
	@python3 -B tests/fleet/demo.py $(BUILD)

tests:
	@tests/install.sh build demo test
	@tests/other_lldb.sh $(BUILD)/other-lldb
	@tests/libcxx.sh $(BUILD)/libcxx
	@tests/qt.sh $(BUILD)/qt
	@$(configure) -DREFHIST_TESTS=ON -DREFHIST_CHECKED=$(abspath $(BUILD))/checked
	@cmake --build $(BUILD) -j $(JOBS)
	@tests/fuzz/build $(BUILD)/checked >/dev/null

test: tests
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -LE wide -j $(JOBS) </dev/null

test-all: tests
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j $(JOBS) </dev/null

install: build
	@python3 -B packaging/prefix.py install $(BUILD) $(PREFIX)

docs: build
	python3 -B docs/generate_commands.py $(BUILD)/core/librefhist.so > docs/commands.md.new
	mv docs/commands.md.new docs/commands.md

bench-programs:
	@tests/install.sh build demo test bench
	@$(configure) -DREFHIST_TESTS=ON
	@cmake --build $(BUILD) -j $(JOBS) --target refhist_bench

bench: bench-programs
	@python3 -B tests/bench/page.py $(BUILD)

bench-page: bench-programs
	@python3 -B tests/bench/page.py $(BUILD) --write docs/performance.md

bench-growth:
	@tests/install.sh build demo test
	@$(configure) -DREFHIST_TESTS=ON
	@cmake --build $(BUILD) -j $(JOBS) --target refhist_bench_growth
	@python3 -B tests/bench/growth.py $(BUILD) $(GROWTH)

accuracy-programs:
	@tests/install.sh build demo test accuracy
	@$(configure)
	@cmake --build $(BUILD) -j $(JOBS) --target refhist refhist-run refhist-exec refhist_lldb

accuracy: accuracy-programs
	@python3 -B tests/accuracy/accuracy.py $(BUILD)

accuracy-page: accuracy-programs
	@python3 -B tests/accuracy/accuracy.py $(BUILD) --write docs/accuracy.md

format:
	@tests/install.sh format
	git ls-files '*.c' '*.cpp' '*.h' | xargs clang-format-14 -i

clean:
	rm -rf $(BUILD)

uninstall:
	@python3 -B packaging/prefix.py uninstall $(PREFIX)

deb:
	@packaging/deb.sh $(BUILD) $(JOBS)

deb-test: deb
	@tests/deb/run $(BUILD)/deb

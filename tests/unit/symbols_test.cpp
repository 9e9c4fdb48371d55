// Symbol tables and debug information, against what the compiler, the program itself and binutils say.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "fixtures/symbols_support.h"
#include "symbols/dwarf_expression.h"
#include "symbols/module.h"

using namespace refhist;
using namespace refhist_test;

namespace {

/// Compilers and debug information formats that must all give the same answers.
std::vector<std::pair<std::string, std::string>> c_builds() {
  std::vector<std::pair<std::string, std::string>> builds = {
      {"gcc", "-g -gdwarf-4 -O0"},
      {"gcc", "-g -gdwarf-5 -O2"},
      {"gcc", "-g -gdwarf-5 -O2 -flto"},
      {"gcc", "-g -O1 -gsplit-dwarf"},
      {"gcc", "-g -O2 -fdebug-types-section"},
      {"gcc", "-g -gdwarf-4 -O2 -fdebug-types-section -gz"}};
  if (have("clang")) {
    builds.emplace_back("clang", "-g -gdwarf-4 -O2");
    builds.emplace_back("clang", "-g -gdwarf-5 -O1");
    builds.emplace_back("clang", "-g -gdwarf-4 -gsplit-dwarf -O2");
  }
  return builds;
}

std::string error_of(const Module& module, std::string_view type, std::string_view path) {
  try {
    module.member(type, path);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::vector<std::string> fields(const std::string& line, char separator) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; std::getline(in, word, separator);) words.push_back(word);
  return words;
}

std::set<std::string> names_of(const Module& module) {
  std::set<std::string> names;
  for (const FunctionSymbol& function : module.functions()) names.insert(function.name);
  return names;
}

}  // namespace

TEST_CASE("C members lie where offsetof says") {
  for (const auto& [compiler, flags] : c_builds()) {
    CAPTURE(compiler);
    CAPTURE(flags);
    const std::string program = build(compiler, "symbols_members.c", flags);
    const auto module = Module::open(program);
    REQUIRE(module->has_debug_info());
    int compared = 0;
    for (const std::string& line : lines_of(output_of(program))) {
      const auto words = fields(line, ' ');
      if (words[0] == "sizeof") {
        CHECK(module->type_size("struct conn") == std::stoull(words[1]));
        CHECK(module->type_size("conn_t") == std::stoull(words[1]));
        continue;
      }
      CAPTURE(line);
      for (const char* type : {"struct conn", "conn", "conn_t"}) {
        const auto place = module->member(type, words[2]);
        REQUIRE(place.has_value());
        CHECK(place->offset == std::stoull(words[3]));
        CHECK(place->size == std::stoull(words[4]));
      }
      ++compared;
    }
    CHECK(compared == 9);
    CHECK(module->member("struct conn", "small")->is_signed);
    CHECK(module->member("struct conn", "refs")->is_signed);  // as the scalar in it
    CHECK_FALSE(module->member("struct conn", "flags")->is_signed);
    CHECK_FALSE(module->member("struct conn", "next")->is_signed);
  }
}

TEST_CASE("A wrong member path names the nearest") {
  const auto module = Module::open(build("gcc", "symbols_members.c", "-g"));
  CHECK(error_of(*module, "struct conn", "refz.counter") ==
        "struct conn has no member \"refz.counter\" (did you mean \"refs.counter\"?)");
  CHECK(error_of(*module, "struct conn", "counter") ==
        "struct conn has no member \"counter\" (did you mean \"refs.counter\"?)");
  CHECK(error_of(*module, "conn_t", "next.refs") ==
        "conn_t has no member \"next.refs\" (did you mean \"nested.refs\"?)");
  CHECK(error_of(*module, "struct conn", "") == "struct conn has no member \"\"");
  CHECK_FALSE(module->member("struct nobody", "refs").has_value());
  CHECK_FALSE(module->member("struct conn_t", "refs").has_value());  // a typedef, not a tag
  CHECK_FALSE(module->member("opaque_t", "refs").has_value());
  CHECK_FALSE(module->type_size("struct opaque").has_value());
}

TEST_CASE("A bit-field is a part of the narrowest word that has all of it") {
  const auto module = Module::open(build("gcc", "symbols_members.c", "-g"));
  struct Field {
    const char* name;
    std::uint64_t offset;
    unsigned size, first_bit, bits;
  };
  for (const Field& field : {Field{"low", 0, 4, 0, 24}, Field{"top", 3, 1, 0, 0}, Field{"flags", 4, 1, 0, 6},
                             Field{"count", 4, 4, 6, 26}, Field{"wide", 8, 8, 3, 40}}) {
    const auto place = module->member("struct fields", field.name);
    REQUIRE(place);
    CHECK(place->offset == field.offset);
    CHECK(place->size == field.size);
    CHECK(place->first_bit == field.first_bit);
    CHECK(place->bits == field.bits);
  }
  CHECK(module->bit_field_at("struct fields", 0, 0) == "low");
  CHECK(module->bit_field_at("struct fields", 4, 6) == "count");
  CHECK(module->bit_field_at("struct fields", 4, 7).empty());
  CHECK(module->bit_field_at("struct around", 8, 0) == "inner.low");
  CHECK(module->member_at("struct fields", 16).path == "behind");  // no part of the field before it
  CHECK(error_of(*module, "struct torn", "count").find("no word of 8 bytes") != std::string::npos);
}

TEST_CASE("the signature of an inlined function, by the name that its frame has") {
  if (!have("clang++")) return;  // GCC gives the frame of a static function its plain name
  const auto types = Module::open(build("clang++", "symbols_types.cpp", "-g -O1"));
  const auto cleared = types->inlined_signature("clear(net::Buffer<int, 3>**)");
  REQUIRE(cleared.has_value());
  CHECK(cleared->parameters[0].type == "net::IntBuffer **");
  CHECK_FALSE(types->inlined_signature("clear(int)").has_value());
}

TEST_CASE("C++ members: bases, templates, namespaces, nested types") {
  std::vector<std::pair<std::string, std::string>> builds = {{"g++", "-g -O0"}, {"g++", "-g -O2 -gdwarf-4"}};
  if (have("clang++")) builds.emplace_back("clang++", "-g -O1");
  for (const auto& [compiler, flags] : builds) {
    CAPTURE(compiler);
    const std::string program = build(compiler, "symbols_types.cpp", flags);
    const auto module = Module::open(program);
    int compared = 0;
    for (const std::string& line : lines_of(output_of(program))) {
      CAPTURE(line);
      const auto words = fields(line, '|');
      const auto place = module->member(words[0], words[1]);
      REQUIRE(place.has_value());
      CHECK(place->offset == std::stoull(words[2]));
      CHECK(place->size == std::stoull(words[3]));
      ++compared;
    }
    CHECK(compared == 6);
    CHECK(module->member("net::IntBuffer", "users")->is_signed);            // std::atomic<int>
    CHECK(error_of(*module, "net::Buffer<int, 3>", "live") != "no error");  // static: in no object
    CHECK_FALSE(module->member("Counted", "count").has_value());
    CHECK_FALSE(module->inlined_copies("_ZN3net6BufferIiLi3EE3refEv").empty());
    CHECK_FALSE(module->inlined_copies("net::Buffer<int, 3>::ref").empty());
  }
}

TEST_CASE("Signatures are spelled as in C") {
  for (const auto& [compiler, flags] : c_builds()) {
    CAPTURE(compiler);
    CAPTURE(flags);
    const auto module = Module::open(build(compiler, "symbols_members.c", flags));
    const auto functions = module->functions_named("conn_call");
    REQUIRE(functions.size() == 1);
    const auto signature = module->signature(functions[0]);
    REQUIRE(signature.has_value());
    CHECK(signature->function == "conn_call");
    CHECK(signature->result_type == "int");
    CHECK(signature->result_pointee.empty());
    REQUIRE(signature->parameters.size() == 4);
    CHECK(signature->parameters[0].name == "conn");
    CHECK(signature->parameters[0].type == "conn_t *");
    CHECK(signature->parameters[0].pointee == "conn_t");
    CHECK(signature->parameters[1].type == "int (*)(const struct conn *, ...)");
    CHECK(signature->parameters[1].pointee.empty());
    CHECK(signature->parameters[2].type == "const char *const *");
    CHECK(signature->parameters[3].pointee == "opaque_t");
  }
  const auto types = Module::open(build("g++", "symbols_types.cpp", "-g -O0"));
  for (const FunctionSymbol& function : types->functions()) {
    if (demangle(function.name).rfind("net::open(", 0) != 0) continue;
    const auto signature = types->signature(function);
    REQUIRE(signature.has_value());
    CHECK(signature->parameters[0].type == "net::IntBuffer &");
    CHECK(signature->parameters[0].pointee == "net::IntBuffer");
    CHECK(signature->parameters[1].pointee == "net::(anonymous namespace)::Hidden");
    return;
  }
  FAIL("net::open is not in the symbol table");
}

TEST_CASE("Inlined copies: in a lambda of a function that was inlined everywhere") {
  std::vector<std::string> compilers{"g++"};
  if (have("clang++")) compilers.emplace_back("clang++");
  for (const std::string& compiler : compilers) {
    CAPTURE(compiler);
    const auto module = Module::open(build(compiler, "symbols_local.cpp", "-g -O2"));
    const auto copies = module->inlined_copies("thing_put");
    REQUIRE(copies.size() == 1);
    const auto frames = module->source_frames(copies[0].address);
    CHECK(std::any_of(frames.begin(), frames.end(), [](const SourceFrame& f) {
      return f.function.find("thing_put") != std::string::npos;
    }));
  }
}

TEST_CASE("Inlined copies: every one, with the call it stands for") {
  for (const auto& [compiler, flags] : c_builds()) {
    if (flags.find("-O0") != std::string::npos) continue;
    CAPTURE(compiler);
    CAPTURE(flags);
    const auto module = Module::open(build(compiler, "symbols_inline.c", flags));
    std::map<unsigned, std::string> found;
    for (const InlinedCopy& copy : module->inlined_copies("conn_get")) {
      found[copy.line] = copy.into;
      CHECK(copy.file.ends_with("symbols_inline.c"));
      const auto frames = module->source_frames(copy.address);
      REQUIRE_FALSE(frames.empty());
      CHECK(std::any_of(frames.begin(), frames.end(),
                        [](const SourceFrame& f) { return f.function == "conn_get" && f.inlined; }));
    }
    CHECK(found[line_with("symbols_inline.c", "// copy in main")] == "main");
    CHECK(found[line_with("symbols_inline.c", "// copy in hidden")] == "hidden");
    CHECK(found[line_with("symbols_inline.c", "// copy in conn_share")] == "conn_share");
    CHECK(found.size() == 3);
    REQUIRE_FALSE(module->inlined_copies("conn_share").empty());
    CHECK(module->inlined_copies("conn_share")[0].into == "conn_open");
    CHECK(module->inlined_copies("conn_open").empty());
    CHECK(module->inlined_copies("nobody").empty());
  }
}

TEST_CASE("Source frames agree with addr2line -i at every instruction") {
  // addr2line of binutils 2.40 reads no split units, not all of clang's DWARF 5, and errs in files of LTO.
  std::vector<std::pair<std::string, std::string>> builds = {
      {"gcc", "-g -gdwarf-4 -O2"}, {"gcc", "-g -gdwarf-5 -O2"}, {"gcc", "-g -O0"}};
  if (have("clang")) builds.emplace_back("clang", "-g -gdwarf-4 -O2");
  for (const auto& [compiler, flags] : builds) {
    CAPTURE(compiler);
    CAPTURE(flags);
    const std::string program = build(compiler, "symbols_inline.c", flags);
    const auto module = Module::open(program);
    const std::string listing =
        output_of("objdump -d --no-show-raw-insn " + program +
                  " | sed -n '/<\\(main\\|conn_open\\|hidden.*\\)>:/,/^$/s/^ *\\([0-9a-f]*\\):.*/\\1/p' >" +
                  program + ".pcs; addr2line -a -i -f -e " + program + " <" + program + ".pcs");
    std::vector<std::string> mine;
    std::vector<std::string> theirs;
    Address address = 0;
    bool inside = false;
    int compared = 0;
    const auto lines = lines_of(listing);
    for (std::size_t i = 0; i < lines.size();) {
      if (lines[i].starts_with("0x")) {
        address = std::stoull(lines[i++], nullptr, 16);
        inside = module->function_at(address).has_value();  // and no padding after it
        for (const SourceFrame& frame :
             inside ? module->source_frames(address) : std::vector<SourceFrame>()) {
          mine.push_back(fmt::format("{:x} {} {}:{}", address, frame.function, frame.file, frame.line));
        }
        compared += inside ? 1 : 0;
        continue;
      }
      std::string place = lines[i + 1].substr(0, lines[i + 1].find(" (discriminator"));
      if (place.ends_with(":?")) place.back() = '0';
      if (inside) theirs.push_back(fmt::format("{:x} {} {}", address, clone_base(lines[i]), place));
      i += 2;
    }
    CHECK(compared > 30);
    REQUIRE(mine.size() == theirs.size());
    for (std::size_t i = 0; i < mine.size(); ++i) CHECK(mine[i] == theirs[i]);
  }
}

TEST_CASE("Symbols of a library: versions, aliases, indirect functions, data") {
  const std::string library = build_library("-O2");
  const auto module = Module::open(library);
  CHECK(module->position_independent());
  CHECK_FALSE(module->has_debug_info());
  CHECK(module->interpreter().empty());
  CHECK(module->build_id().size() == 40);
  CHECK(module->functions_named("library_value").size() == 2);  // @V1 and @@V2
  CHECK(std::none_of(module->functions().begin(), module->functions().end(),
                     [](const FunctionSymbol& f) { return f.name.find('@') != std::string::npos; }));
  const auto real = module->functions_named("library_real");
  const auto alias = module->functions_named("library_alias");
  REQUIRE(real.size() == 1);
  REQUIRE(alias.size() == 1);
  CHECK(real[0].address == alias[0].address);
  CHECK(real[0].exported);
  CHECK(module->function_at(real[0].address + 1)->name == "library_real");
  REQUIRE(module->functions_named("library_indirect").size() == 1);
  CHECK(module->functions_named("library_indirect")[0].ifunc);
  REQUIRE(module->functions_named("secret").size() == 1);
  CHECK_FALSE(module->functions_named("secret")[0].exported);
  const auto data = module->data_symbol("library_data");
  REQUIRE(data.has_value());
  CHECK_FALSE(module->data_symbol("library_real").has_value());
  for (const Address inside : {*data, *data + 3}) {
    const auto covering = module->data_symbol_at(inside);
    REQUIRE(covering.has_value());
    CHECK(covering->name == "library_data");
    CHECK(covering->address == *data);
  }
  CHECK_FALSE(module->data_symbol_at(real[0].address).has_value());
  CHECK(std::any_of(module->segments().begin(), module->segments().end(), [&](const Segment& s) {
    return s.writable && *data >= s.address && *data < s.address + s.memory_size;
  }));
  std::array<unsigned char, 4> code{};
  CHECK(module->read_code(real[0].address, code.data(), code.size()));
  CHECK_FALSE(module->read_code(0x7fffffff0000, code.data(), code.size()));
}

TEST_CASE("A stripped library: only exported names, only within their size") {
  const std::string full = build_library("-O2 -g");
  const std::string stripped = full + ".stripped";
  output_of("strip -o " + stripped + " " + full);
  const auto whole = Module::open(full);
  const auto module = Module::open(stripped);
  const auto secret = whole->functions_named("secret");
  REQUIRE(secret.size() == 1);
  CHECK(whole->function_at(secret[0].address)->name == "secret");
  CHECK_FALSE(module->function_at(secret[0].address).has_value());
  CHECK(module->source_frames(secret[0].address).empty());
  CHECK(names_of(*module) == std::set<std::string>{"library_alias", "library_first", "library_indirect",
                                                   "library_real", "library_value"});
  const auto first = module->functions_named("library_first");
  REQUIRE(first.size() == 1);
  const Address last = first[0].address + first[0].size - 1;
  CHECK(module->function_at(last)->name == "library_first");
  CHECK_FALSE(module->function_at(last + 1).has_value());
  CHECK(module->source_frames(last)[0].function == "library_first");
  CHECK(module->unwind_rule(secret[0].address) != nullptr);
}

TEST_CASE("Separate debug files by .gnu_debuglink, and .gnu_debugdata") {
  for (const char* build_id : {"-Wl,--build-id=sha1", "-Wl,--build-id=none"}) {
    CAPTURE(build_id);
    const std::string program = build("gcc", "symbols_inline.c", std::string("-O2 -g ") + build_id);
    const std::string debug = program + ".debug";
    output_of("objcopy --only-keep-debug " + program + " " + debug + " && strip " + program +
              " && objcopy --add-gnu-debuglink=" + debug + " " + program);
    const auto found = Module::open(program);
    CHECK(found->has_debug_info());
    CHECK(found->functions_named("hidden").size() == 1);
    CHECK(found->inlined_copies("conn_get").size() >= 3);
    // The debug file of another build must not be believed.
    const std::string other = build("gcc", "symbols_inline.c", std::string("-O1 -g -DOTHER ") + build_id);
    output_of("objcopy --only-keep-debug " + other + " " + debug);
    CHECK_FALSE(Module::open(program)->has_debug_info());
    CHECK(Module::open(program)->functions_named("hidden").empty());
  }
  const std::string program = build("gcc", "symbols_inline.c", "-O2 -no-pie");
  const auto before = Module::open(program)->functions_named("hidden");
  REQUIRE(before.size() == 1);
  output_of("cd " + scratch().file("") + " && objcopy --only-keep-debug " + program +
            " mini && objcopy -S mini --keep-symbol=hidden"
            " && /usr/bin/python3 -c \"import lzma; "
            "open('mini.xz','wb').write(lzma.compress(open('mini','rb').read()))\" && strip " +
            program + " && objcopy --add-section .gnu_debugdata=mini.xz " + program);
  const auto after = Module::open(program)->functions_named("hidden");
  REQUIRE(after.size() == 1);
  CHECK(after[0].address == before[0].address);
}

TEST_CASE("What is no x86-64 ELF file is refused in one line") {
  const auto message = [](const std::string& path) {
    try {
      Module::open(path);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("opened");
  };
  CHECK(message("/nonexistent/file") == "/nonexistent/file: No such file or directory");
  CHECK(message(fixture("symbols_types.cpp")) == fixture("symbols_types.cpp") + ": not an ELF file");
  const std::string program = build("gcc", "symbols_inline.c", "-O2");
  const std::string arm = scratch().file("arm");
  output_of("cp " + program + " " + arm + " && printf '\\267' | dd of=" + arm +
            " bs=1 seek=18 conv=notrunc 2>/dev/null");
  CHECK(message(arm) == arm + ": not an x86-64 ELF file");
  const std::string shortened = scratch().file("shortened");
  output_of("head -c 3000 " + program + " >" + shortened);
  if (const std::string result = message(shortened); result == "opened") {
    const auto module = Module::open(shortened);
    CHECK(module->functions().empty());
    CHECK(module->unwind_rule(module->entry_point()) == nullptr);
  }
}

TEST_CASE("Demangling and clones") {
  CHECK(demangle("_ZN2ns1fIiEEvc") == "void ns::f<int>(char)");
  CHECK(demangle("json_object_get") == "json_object_get");
  CHECK(demangle("_Zbroken") == "_Zbroken");
  CHECK(clone_base("f.part.0") == "f");
  CHECK(clone_base("f") == "f");
  CHECK(clone_base("_ZN1A1fEv.constprop.0.isra.0") == "_ZN1A1fEv");
  CHECK(clone_kind("f") == CloneKind::whole);
  CHECK(clone_kind("f.part.0") == CloneKind::part);
  CHECK(clone_kind("f.isra.0") == CloneKind::isra);
  CHECK(clone_kind("f.constprop.12") == CloneKind::constprop);
  CHECK(clone_kind("f.cold") == CloneKind::cold);
  CHECK(clone_kind("f.isra.0.part.1") == CloneKind::part);
  CHECK(clone_kind("f.constprop.0.cold") == CloneKind::cold);
  CHECK(clone_kind("f.lto_priv.0") == CloneKind::whole);
  CHECK(clone_kind("f.avx2") == CloneKind::other);
}

TEST_CASE("DWARF expressions") {
  Registers registers;
  registers[kRsp] = 0x1000;
  registers[kRip] = 0x400bULL;
  const WordReader memory = [](Address address, std::size_t size) -> std::optional<std::uint64_t> {
    if (address == 0) return std::nullopt;
    return size == 8 ? address * 2 : address & 0xff;
  };
  const auto run = [&](std::vector<std::uint8_t> code, std::optional<Address> cfa = std::nullopt) {
    return evaluate_expression(code, registers, cfa, memory);
  };
  // A PLT stub: breg7+8, breg16+0, lit15, and, lit11, ge, lit3, shl, plus.
  const std::vector<std::uint8_t> plt = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
  CHECK(run(plt) == 0x1010);
  registers[kRip] = 0x400aULL;
  CHECK(run(plt) == 0x1008);
  CHECK(run({0x77, 0xa0, 0x01, 0x06}) == (0x1000 + 160) * 2);            // breg7+160, deref
  CHECK(run({0x94, 1}, 0x1234) == 0x34);                                 // deref_size 1 of the CFA
  CHECK(run({0x11, 0x7f, 0x1f}) == 1);                                   // consts -1, neg
  CHECK(run({0x08, 1, 0x28, 5, 0, 0x08, 9, 0x2f, 0, 0, 0x08, 7}) == 7);  // bra over const 9 and skip
  CHECK_FALSE(run({0x2f, 0xfd, 0xff}).has_value());                      // skip to itself
  CHECK_FALSE(run({0x30, 0x06}).has_value());                            // deref of 0: unreadable
  CHECK_FALSE(run({0x22}).has_value());                                  // plus of nothing
  CHECK_FALSE(run({0x31, 0x30, 0x1b}).has_value());                      // 1 / 0
  CHECK_FALSE(run({0x77}).has_value());                                  // cut off
  CHECK_FALSE(run({0xff}).has_value());
  CHECK_FALSE(run({}).has_value());
}

// summary: Material's copy assignment takes the other's program over without a clone() of the reference, which the copy constructor does
// kind: missing-get
// counts: deficit
// objects: 3
// track: auto
// build: clang++ -std=c++17 -O2 -g
// exit: 0
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Programs of a renderer. They are compiled once per source, materials share them; the library has
// no claim on a program, it only knows those that are alive.

class Library;

class Program {
public:
    Program *clone()
    {
        ++clones_;
        return this;
    }

    void dispose();

    std::uint32_t uniform(std::uint32_t x) const { return x * 2654435761u ^ hash_; }
    const char *source() const { return source_; }

private:
    friend class Library;

    Program(Library *lib, const std::string &source) : lib_(lib)
    {
        std::snprintf(source_, sizeof source_, "%s", source.c_str());
        for (char c : source)
            hash_ = (hash_ ^ std::uint32_t(c)) * 16777619u;
    }
    ~Program() = default;

    char source_[48];
    std::uint32_t hash_ = 2166136261u;
    Library *lib_;
    int clones_ = 1;
};

class Library {
public:
    // A program for the caller, who disposes of it.
    Program *compile(const std::string &source)
    {
        auto it = alive_.find(source);
        if (it != alive_.end()) {
            ++shared_;
            return it->second->clone();
        }
        ++compiled_;
        Program *p = new Program(this, source);
        alive_.emplace(source, p);
        return p;
    }

    void destroyed(Program *p) { alive_.erase(p->source()); }

    std::size_t alive() const { return alive_.size(); }
    int compiled() const { return compiled_; }
    int shared() const { return shared_; }

private:
    std::map<std::string, Program *> alive_;
    int compiled_ = 0, shared_ = 0;
};

__attribute__((noinline)) void Program::dispose()
{
    if (--clones_ == 0) {
        lib_->destroyed(this);
        delete this;
    }
}

class Material {
public:
    Material() = default;
    Material(Library &lib, const std::string &source, std::uint32_t colour)
        : program_(lib.compile(source)), colour_(colour)
    {
    }

    Material(const Material &o) : program_(o.program_ ? o.program_->clone() : nullptr), colour_(o.colour_) {}

    Material(Material &&o) noexcept : program_(std::exchange(o.program_, nullptr)), colour_(o.colour_) {}

    Material &operator=(const Material &o)
    {
        if (this == &o)
            return *this;
        if (program_)
            program_->dispose();
#ifdef BUG
        program_ = o.program_; // GUILTY
#else
        program_ = o.program_ ? o.program_->clone() : nullptr;
#endif
        colour_ = o.colour_;
        return *this;
    }

    Material &operator=(Material &&o) noexcept
    {
        std::swap(program_, o.program_);
        colour_ = o.colour_;
        return *this;
    }

    ~Material()
    {
        if (program_)
            program_->dispose();
    }

    std::uint32_t shade(std::uint32_t x) const { return program_ ? program_->uniform(x ^ colour_) : colour_; }

private:
    Program *program_ = nullptr;
    std::uint32_t colour_ = 0;
};

struct Mesh {
    std::string name;
    Material material;
    unsigned triangles;
};

int main()
{
    auto lib = std::make_unique<Library>();
    std::vector<Mesh> meshes;
    std::uint32_t picture = 0;

    meshes.reserve(40);
    {
        Material stone(*lib, "phong.frag roughness=9", 0x808080);
        Material brass(*lib, "metal.frag gloss=3", 0xb5a642);
        Material glass(*lib, "glass.frag ior=1.5", 0xeeffff);

        for (int i = 0; i < 30; ++i) {
            std::string name = "mesh" + std::to_string(i);
            if (i % 10 == 7)
                meshes.push_back({name, Material(*lib, "toon.frag steps=" + std::to_string(i), 0xff0000u + i), 20});
            else
                meshes.push_back({name, i % 3 == 0 ? stone : i % 3 == 1 ? brass : glass, 12u * i});
        }
        for (int frame = 0; frame < 5; ++frame)
            for (const Mesh &m : meshes)
                picture = picture * 31 + m.material.shade(m.triangles + frame);
    }

    // Someone paints in the editor: new materials by move, the pipette by copy.
    meshes[4].material = Material(*lib, "phong.frag roughness=2", 0x335577);
    meshes[5].material = Material(*lib, "wood.frag rings=12", 0x885522);
    meshes[6].material = Material(*lib, "phong.frag roughness=2", 0x335588);
    meshes[8].material = meshes[4].material;
    meshes[9].material = meshes[5].material;
    meshes[20].material = meshes[7].material;
    for (const Mesh &m : meshes)
        picture = picture * 31 + m.material.shade(m.triangles);

    std::printf("%d compiled, %d shared, %zu alive, picture %08x\n", lib->compiled(), lib->shared(), lib->alive(), picture);
    meshes.clear();
    return 0;
}

/* summary: when the stages of a pipeline do not fit, the pixel shader is released by hand and again by the pipeline's destructor
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: own
 * build: g++ -O3 -g
 */
// Pipeline states of a small renderer: shaders, vertex layouts and samplers are counted device objects, a pipeline holds those
// that it was made of, and a cache keeps pipelines by their description.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace gfx {

enum class Result { Ok, BadCode, Mismatch, NoLayout };

class Device;

class DeviceObject {
public:
    uint32_t AddRef() { return refs_.fetch_add(1, std::memory_order_relaxed) + 1; }

    uint32_t Release() {
        uint32_t left = refs_.fetch_sub(1, std::memory_order_acq_rel) - 1;
        if (left == 0)
            delete this;
        return left;
    }

    Device *device() const { return device_; }

protected:
    explicit DeviceObject(Device *device);
    virtual ~DeviceObject();

private:
    Device *device_;
    std::atomic<uint32_t> refs_;
};

class Device {
public:
    int live() const { return live_; }

private:
    friend class DeviceObject;
    std::atomic<int> live_{0};
};

DeviceObject::DeviceObject(Device *device) : device_(device), refs_(1) { ++device_->live_; }
DeviceObject::~DeviceObject() { --device_->live_; }

enum class Stage { Vertex, Pixel };

class Shader : public DeviceObject {
public:
    Shader(Device *device, Stage stage, const char *entry) : DeviceObject(device), stage_(stage), inputs_(0), outputs_(0) {
        std::snprintf(entry_, sizeof entry_, "%s", entry);
    }

    // the source declares "in NAME" and "out NAME" with one letter per varying
    bool Compile(const char *source) {
        const char *at = source;
        while ((at = std::strpbrk(at, "<>")) != nullptr) {
            char name = at[1];
            if (name < 'a' || name > 'z')
                return false;
            (*at == '<' ? inputs_ : outputs_) |= 1u << (name - 'a');
            at += 2;
        }
        return inputs_ != 0 || outputs_ != 0;
    }

    Stage stage() const { return stage_; }
    const char *entry() const { return entry_; }
    uint32_t inputs() const { return inputs_; }
    uint32_t outputs() const { return outputs_; }

private:
    ~Shader() override {}

    Stage stage_;
    char entry_[24];
    uint32_t inputs_, outputs_;
};

class VertexLayout : public DeviceObject {
public:
    VertexLayout(Device *device, const char *attributes) : DeviceObject(device), mask_(0) {
        for (; *attributes; ++attributes)
            mask_ |= 1u << (*attributes - 'a');
    }
    uint32_t mask() const { return mask_; }

private:
    ~VertexLayout() override {}
    uint32_t mask_;
};

class Pipeline : public DeviceObject {
public:
    explicit Pipeline(Device *device) : DeviceObject(device), vs_(nullptr), ps_(nullptr), layout_(nullptr) {}

    void SetShaders(Shader *vs, Shader *ps) {
        vs->AddRef();
        ps->AddRef();
        vs_ = vs;
        ps_ = ps;
    }

    void SetLayout(VertexLayout *layout) {
        layout->AddRef();
        layout_ = layout;
    }

    Result Link() const {
        if (!layout_)
            return Result::NoLayout;
        if (vs_->inputs() & ~layout_->mask())
            return Result::NoLayout;
        return ps_->inputs() & ~vs_->outputs() ? Result::Mismatch : Result::Ok;
    }

    void Bind() const { std::printf("  bind %s + %s\n", vs_->entry(), ps_->entry()); }

private:
    ~Pipeline() override {
        if (vs_)
            vs_->Release();
        if (ps_)
            ps_->Release();
        if (layout_)
            layout_->Release();
    }

    Shader *vs_, *ps_;
    VertexLayout *layout_;
};

Result CompileShader(Device *device, Stage stage, const char *entry, const char *source, Shader **out) {
    Shader *shader = new Shader(device, stage, entry);
    if (!shader->Compile(source)) {
        shader->Release();
        return Result::BadCode;
    }
    *out = shader;
    return Result::Ok;
}

Result CreatePipeline(Device *device, Shader *vs, Shader *ps, VertexLayout *layout, Pipeline **out) {
    Pipeline *pipeline = new Pipeline(device);
    pipeline->SetShaders(vs, ps);
    if (layout)
        pipeline->SetLayout(layout);
    Result result = pipeline->Link();
    if (result != Result::Ok) {
#ifdef BUG
        if (result == Result::Mismatch)
            ps->Release(); // GUILTY
#endif
        pipeline->Release();
        return result;
    }
    *out = pipeline;
    return Result::Ok;
}

struct Material {
    const char *name;
    const char *vs_source;
    const char *ps_source;
};

class PipelineCache {
public:
    PipelineCache(Device *device, VertexLayout *layout) : device_(device), layout_(layout), fallback_(nullptr) {
        layout_->AddRef();
    }

    ~PipelineCache() {
        for (auto &entry : pipelines_)
            entry.second->Release();
        for (auto &entry : vertex_shaders_)
            entry.second->Release();
        if (fallback_)
            fallback_->Release();
        layout_->Release();
    }

    void SetFallback(Pipeline *pipeline) {
        pipeline->AddRef();
        if (fallback_)
            fallback_->Release();
        fallback_ = pipeline;
    }

    // the pipeline of a material, with a reference for the caller; the fallback where the material does not build
    Pipeline *Acquire(const Material &material) {
        auto known = pipelines_.find(material.name);
        if (known != pipelines_.end()) {
            known->second->AddRef();
            return known->second;
        }
        Pipeline *pipeline = nullptr;
        Result result = Build(material, &pipeline);
        if (result != Result::Ok) {
            std::printf("%s: error %d\n", material.name, static_cast<int>(result));
            if (fallback_)
                fallback_->AddRef();
            return fallback_;
        }
        pipeline->AddRef();
        pipelines_[material.name] = pipeline;
        return pipeline;
    }

private:
    Result Build(const Material &material, Pipeline **out) {
        Shader *ps = nullptr;
        Shader *&vs = vertex_shaders_[material.vs_source];
        if (!vs) {
            Result result = CompileShader(device_, Stage::Vertex, "vs_main", material.vs_source, &vs);
            if (result != Result::Ok) {
                vertex_shaders_.erase(material.vs_source);
                return result;
            }
        }
        Result result = CompileShader(device_, Stage::Pixel, material.name, material.ps_source, &ps);
        if (result != Result::Ok)
            return result;
        result = CreatePipeline(device_, vs, ps, layout_, out);
        ps->Release();
        return result;
    }

    Device *device_;
    VertexLayout *layout_;
    Pipeline *fallback_;
    std::map<std::string, Pipeline *> pipelines_;
    std::map<std::string, Shader *> vertex_shaders_;
};

} // namespace gfx

int main() {
    static const gfx::Material materials[] = {
        {"plain", "<p >c", "<c"},   {"stone", "<p <n >c >n", "<c <n"}, {"glass", "<p >c", "<c <r"},
        {"cloth", "<p <n >c >n", "<n"}, {"water", "<p <n >c >n", "<n <t"}, {"smoke", "<p >c", "< "},
        {"cables", "<p <w >c", "<c"}, {"leaves", "<p <u >u", "<u"},
    };
    gfx::Device device;
    gfx::VertexLayout *layout = new gfx::VertexLayout(&device, "pnu");
    {
        gfx::PipelineCache cache(&device, layout);
        layout->Release();
        gfx::Pipeline *fallback = cache.Acquire(materials[0]);
        cache.SetFallback(fallback);
        fallback->Release();
        std::vector<gfx::Pipeline *> scene;
        for (const gfx::Material &material : materials)
            scene.push_back(cache.Acquire(material));
        scene.push_back(cache.Acquire(materials[1]));
        scene.push_back(cache.Acquire(materials[3]));
        for (gfx::Pipeline *pipeline : scene) {
            pipeline->Bind();
            pipeline->Release();
        }
    }
    std::printf("%d device objects left\n", device.live());
    return 0;
}

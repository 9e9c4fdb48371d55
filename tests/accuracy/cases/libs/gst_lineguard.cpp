/*
 * summary: a report that the bus of a stopped line refuses is released once more, although posting takes the message in any case
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: GstMiniObject GObject
 * packages: gstreamer-1.0
 * build: g++ -O2 -g
 */
#include <gst/gst.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace {

struct ObjectPut {
    void operator()(gpointer object) const { gst_object_unref(object); }
};
template <class T> using ObjectPtr = std::unique_ptr<T, ObjectPut>;

struct MessagePut {
    void operator()(GstMessage *message) const { gst_message_unref(message); }
};
using MessagePtr = std::unique_ptr<GstMessage, MessagePut>;

/* Counts what goes through a line and keeps some buffers as samples. */
class Meter {
public:
    explicit Meter(guint every) : every_(every) {}
    Meter(const Meter &) = delete;
    Meter &operator=(const Meter &) = delete;
    ~Meter() { drop_samples(); }

    void attach(GstElement *element)
    {
        ObjectPtr<GstPad> pad(gst_element_get_static_pad(element, "src"));
        gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, &Meter::on_buffer, this, nullptr);
    }

    void drop_samples()
    {
        for (GstBuffer *sample : samples_)
            gst_buffer_unref(sample);
        samples_.clear();
    }

    guint buffers() const { return buffers_; }
    guint64 bytes() const { return bytes_; }
    std::size_t samples() const { return samples_.size(); }

private:
    static GstPadProbeReturn on_buffer(GstPad *, GstPadProbeInfo *info, gpointer data)
    {
        auto *self = static_cast<Meter *>(data);
        GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);

        if (self->buffers_++ % self->every_ == 0)
            self->samples_.push_back(gst_buffer_ref(buffer));
        self->bytes_ += gst_buffer_get_size(buffer);
        return GST_PAD_PROBE_OK;
    }

    guint every_;
    guint buffers_ = 0;
    guint64 bytes_ = 0;
    std::vector<GstBuffer *> samples_;
};

/* One production line: fakesrc ! queue ! fakesink, with reports on its bus. */
class Line {
public:
    Line(std::string name, int buffers) : name_(std::move(name)), meter_(8)
    {
        GstElement *pipeline = gst_pipeline_new(name_.c_str());
        GstElement *source = gst_element_factory_make("fakesrc", "source");
        GstElement *queue = gst_element_factory_make("queue", "queue");
        GstElement *sink = gst_element_factory_make("fakesink", "sink");

        pipeline_.reset(GST_ELEMENT(gst_object_ref_sink(pipeline)));
        if (!source || !queue || !sink) {
            std::fprintf(stderr, "coreelements are missing\n");
            std::exit(77);
        }
        g_object_set(source, "num-buffers", buffers, "sizetype", 2, "sizemax", 128, nullptr);
        gst_bin_add_many(GST_BIN(pipeline), source, queue, sink, nullptr);
        gst_element_link_many(source, queue, sink, nullptr);
        bus_.reset(gst_element_get_bus(pipeline));
        meter_.attach(source);
    }

    bool start()
    {
        running_ = gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE;
        report("started");
        return running_;
    }

    void stop()
    {
        gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
        running_ = false;
        meter_.drop_samples();
    }

    /* Puts a line into the log that whoever reads the bus writes. */
    bool report(const char *what)
    {
        GstStructure *details = gst_structure_new("report", "what", G_TYPE_STRING, what, "buffers", G_TYPE_UINT,
                                                  meter_.buffers(), nullptr);
        GstMessage *message = gst_message_new_application(GST_OBJECT(pipeline_.get()), details);

        if (!gst_bus_post(bus_.get(), message)) {
            lost_++;
#ifdef BUG
            gst_message_unref(message); /* GUILTY */
#endif
            return false;
        }
        return true;
    }

    /* Reads the bus up to the end of the stream; the number of reports, or -1 after an error. */
    int watch()
    {
        int reports = 0;

        for (;;) {
            MessagePtr message(gst_bus_timed_pop(bus_.get(), 5 * GST_SECOND));
            if (!message)
                return -1;
            switch (GST_MESSAGE_TYPE(message.get())) {
            case GST_MESSAGE_APPLICATION:
                print(message.get());
                reports++;
                break;
            case GST_MESSAGE_ERROR:
                explain(message.get());
                return -1;
            case GST_MESSAGE_EOS:
                return reports;
            default:
                break;
            }
        }
    }

    const std::string &name() const { return name_; }
    const Meter &meter() const { return meter_; }
    guint lost() const { return lost_; }
    bool running() const { return running_; }

private:
    void print(GstMessage *message) const
    {
        const GstStructure *details = gst_message_get_structure(message);
        std::printf("%s: %s\n", name_.c_str(), gst_structure_get_string(details, "what"));
    }

    void explain(GstMessage *message) const
    {
        GError *error = nullptr;
        gchar *debug = nullptr;

        gst_message_parse_error(message, &error, &debug);
        std::printf("%s: %s\n", name_.c_str(), error->message);
        g_error_free(error);
        g_free(debug);
    }

    std::string name_;
    Meter meter_;
    ObjectPtr<GstElement> pipeline_;
    ObjectPtr<GstBus> bus_;
    guint lost_ = 0;
    bool running_ = false;
};

/* Watches the lines of a hall and writes the sums at the end of a shift. */
class Hall {
public:
    void add(const char *name, int buffers) { lines_.push_back(std::make_unique<Line>(name, buffers)); }

    int run()
    {
        int failures = 0;

        for (auto &line : lines_)
            if (!line->start())
                failures++;
        for (auto &line : lines_) {
            int reports = line->running() ? line->watch() : -1;
            if (reports < 0)
                failures++;
            else
                reports_ += reports;
            if (line->meter().buffers() > quota_)
                line->report("quota reached");
        }
        return failures;
    }

    void close_shift()
    {
        for (auto &line : lines_) {
            line->stop();
            if (line->meter().buffers() < quota_)
                line->report("quota missed");
        }
    }

    void print_sums() const
    {
        guint lost = 0;

        for (const auto &line : lines_) {
            std::printf("%s: %u buffers, %llu bytes\n", line->name().c_str(), line->meter().buffers(),
                        static_cast<unsigned long long>(line->meter().bytes()));
            lost += line->lost();
        }
        std::printf("%d reports, %u lost\n", reports_, lost);
    }

private:
    std::vector<std::unique_ptr<Line>> lines_;
    guint quota_ = 25;
    int reports_ = 0;
};

} // namespace

int main(int argc, char **argv)
{
    int failures;

    gst_init(&argc, &argv);
    {
        Hall hall;

        hall.add("press", 40);
        hall.add("paint", 12);
        hall.add("glue", 30);
        hall.add("pack", 18);
        failures = hall.run();
        hall.close_shift();
        hall.print_sums();
    }
    gst_deinit();
    return failures ? 1 : 0;
}

/* summary: A freshly created json object is given to json_object_object_add (which takes over the reference) with an additional json_object_get
 * kind: missing-put
 * counts: surplus
 * objects: 15
 * track: json-c
 * packages: json-c
 * build: gcc -O0 -g
 * exit: 0
 */
/*
 * cfgoverlay - build effective device configurations out of a base document
 * and a list of overlays, the way our provisioning server does it.
 *
 *   effective = base  +  overlay[site]  +  overlay[device]
 *
 * Objects are merged recursively, arrays are replaced, null deletes a key.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char base_text[] =
    "{\"network\":{\"dhcp\":true,\"mtu\":1500,\"dns\":[\"10.0.0.1\",\"10.0.0.2\"]},"
    " \"log\":{\"level\":\"info\",\"targets\":[\"syslog\"]},"
    " \"sensors\":{\"interval\":60,\"calibration\":{\"offset\":0.5,\"gain\":1.0}},"
    " \"features\":{\"ota\":true,\"shell\":false}}";

struct stats {
    unsigned merged_keys;
    unsigned deleted;
    unsigned replaced;
    unsigned defaults;
    unsigned rejected;
    size_t text_bytes;
};

static struct stats st;

static struct json_object *deep_copy(struct json_object *src)
{
    struct json_object *dst = NULL;

    if (json_object_deep_copy(src, &dst, NULL) < 0)
        return NULL;
    return dst;
}

static void merge(struct json_object *into, struct json_object *overlay)
{
    json_object_object_foreach(overlay, key, value) {
        struct json_object *have;

        st.merged_keys++;
        if (value == NULL) {
            json_object_object_del(into, key);
            st.deleted++;
            continue;
        }
        if (json_object_object_get_ex(into, key, &have)
            && json_object_is_type(have, json_type_object)
            && json_object_is_type(value, json_type_object)) {
            merge(have, value);
            continue;
        }
        /* the overlay document keeps its own reference */
        json_object_object_add(into, key, json_object_get(value));
        st.replaced++;
    }
}

/* overlays are generated text, like the rows of our device database */
static struct json_object *site_overlay(unsigned site)
{
    char text[256];

    snprintf(text, sizeof text,
             "{\"network\":{\"dns\":[\"10.%u.0.53\"]},\"site\":\"S%02u\","
             "\"log\":{\"level\":\"%s\"}}",
             site, site, site % 3 ? "warning" : "debug");
    return json_tokener_parse(text);
}

static struct json_object *device_overlay(unsigned dev)
{
    char text[320];
    int n;

    if (dev % 37 == 36)             /* rows that somebody edited by hand */
        n = snprintf(text, sizeof text, "{\"name\":\"dev-%u\",\"sensors\":", dev);
    else if (dev % 12 == 11)
        n = snprintf(text, sizeof text,
                     "{\"name\":\"dev-%u\",\"sensors\":{\"calibration\":null}}", dev);
    else
        n = snprintf(text, sizeof text,
                     "{\"name\":\"dev-%u\",\"sensors\":{\"interval\":%u},"
                     "\"features\":{\"shell\":%s}}",
                     dev, 10 + dev % 50, dev % 5 ? "false" : "true");
    if (n < 0 || (size_t)n >= sizeof text)
        return NULL;
    return json_tokener_parse(text);
}

/* The firmware insists on a calibration section. */
static void ensure_calibration(struct json_object *cfg)
{
    struct json_object *sensors, *cal;

    if (!json_object_object_get_ex(cfg, "sensors", &sensors))
        return;
    if (json_object_object_get_ex(sensors, "calibration", &cal))
        return;
    cal = json_object_new_object();
    json_object_object_add(cal, "offset", json_object_new_double(0.0));
    json_object_object_add(cal, "gain", json_object_new_double(1.0));
    json_object_object_add(cal, "source", json_object_new_string("factory"));
#ifdef BUG
    json_object_object_add(sensors, "calibration", json_object_get(cal)); /* GUILTY */
#else
    json_object_object_add(sensors, "calibration", cal);
#endif
    st.defaults++;
}

static int validate(struct json_object *cfg)
{
    struct json_object *net, *mtu, *name;

    if (!json_object_object_get_ex(cfg, "name", &name))
        return 0;
    if (!json_object_object_get_ex(cfg, "network", &net)
        || !json_object_object_get_ex(net, "mtu", &mtu))
        return 0;
    return json_object_get_int(mtu) >= 576;
}

static struct json_object *effective(struct json_object *base, struct json_object *site,
                                     unsigned dev)
{
    struct json_object *cfg = NULL, *own;

    own = device_overlay(dev);
    if (own == NULL)
        goto reject;
    cfg = deep_copy(base);
    if (cfg == NULL)
        goto reject;
    merge(cfg, site);
    merge(cfg, own);
    ensure_calibration(cfg);
    if (!validate(cfg))
        goto reject;
    json_object_put(own);
    return cfg;

reject:
    st.rejected++;
    json_object_put(own);
    json_object_put(cfg);
    return NULL;
}

/* -- the inventory keeps the last few results per site for comparison ------ */

#define SITES 6
#define DEPTH 4

struct shelf {
    struct json_object *overlay;
    struct json_object *recent[DEPTH];
    unsigned head;
    unsigned changed;
};

static void shelf_push(struct shelf *s, struct json_object *cfg)
{
    struct json_object *prev = s->recent[s->head];

    s->head = (s->head + 1) % DEPTH;
    if (prev != NULL && !json_object_equal(prev, cfg))
        s->changed++;
    json_object_put(prev);
    s->recent[(s->head + DEPTH - 1) % DEPTH] = cfg;
}

static void shelf_clear(struct shelf *s)
{
    for (unsigned i = 0; i < DEPTH; i++)
        json_object_put(s->recent[i]);
    json_object_put(s->overlay);
}

static struct json_object *summary(struct shelf *shelves)
{
    struct json_object *root = json_object_new_object();
    struct json_object *list = json_object_new_array();

    for (unsigned i = 0; i < SITES; i++) {
        struct json_object *row = json_object_new_object();
        struct json_object *site;

        if (json_object_object_get_ex(shelves[i].overlay, "site", &site))
            json_object_object_add(row, "site", json_object_get(site));
        json_object_object_add(row, "changed", json_object_new_int(shelves[i].changed));
        json_object_array_add(list, row);
    }
    json_object_object_add(root, "sites", list);
    json_object_object_add(root, "rejected", json_object_new_int(st.rejected));
    json_object_object_add(root, "defaults", json_object_new_int(st.defaults));
    return root;
}

int main(int argc, char **argv)
{
    unsigned devices = argc > 1 ? strtoul(argv[1], NULL, 10) : 180;
    struct shelf shelves[SITES] = { 0 };
    struct json_object *base = json_tokener_parse(base_text);
    struct json_object *sum;

    if (base == NULL)
        return 1;
    for (unsigned i = 0; i < SITES; i++)
        shelves[i].overlay = site_overlay(i);

    for (unsigned dev = 0; dev < devices; dev++) {
        struct shelf *s = &shelves[dev % SITES];
        struct json_object *cfg = effective(base, s->overlay, dev);

        if (cfg == NULL)
            continue;
        st.text_bytes += strlen(json_object_to_json_string_ext(cfg, JSON_C_TO_STRING_PLAIN));
        shelf_push(s, cfg);
        usleep(500);
    }

    sum = summary(shelves);
    printf("%s\n%u keys merged, %u deleted, %u replaced, %zu bytes\n",
           json_object_to_json_string(sum), st.merged_keys, st.deleted, st.replaced,
           st.text_bytes);
    json_object_put(sum);
    for (unsigned i = 0; i < SITES; i++)
        shelf_clear(&shelves[i]);
    json_object_put(base);
    return 0;
}

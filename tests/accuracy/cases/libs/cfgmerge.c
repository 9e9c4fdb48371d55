/* summary: a host without its own list adopts the site's array without taking a reference, so freeing the host frees the site's array
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: json-c
 * packages: json-c
 * build: gcc -O2 -g
 * exit: 0
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

static const char *const site_text =
    "{"
    " \"domain\": \"example.org\", \"mtu\": 1500,"
    " \"dns\": [\"10.0.0.1\", \"10.0.0.2\"],"
    " \"admins\": [\"ana\", \"boris\", \"chen\"],"
    " \"limits\": {\"cpu\": 4, \"memory\": 2048, \"files\": {\"soft\": 1024, \"hard\": 4096}},"
    " \"packages\": [\"openssh-server\", \"rsyslog\", \"chrony\"],"
    " \"mounts\": [{\"dev\": \"/dev/sda1\", \"dir\": \"/\"}, {\"dev\": \"tmpfs\", \"dir\": \"/tmp\"}]"
    "}";

static const char *const host_texts[] = {
    "{\"name\": \"web1\", \"dns\": [], \"admins\": [\"dora\"], \"packages\": [\"nginx\"],"
    " \"mounts\": [{\"dev\": \"/dev/sdb1\", \"dir\": \"/srv\"}]}",
    "{\"name\": \"web2\", \"mtu\": 9000, \"dns\": [\"10.0.0.9\"], \"admins\": [], \"packages\": [\"nginx\"],"
    " \"mounts\": [], \"limits\": {\"cpu\": 8}}",
    "{\"name\": \"db1\", \"dns\": [], \"admins\": [\"emil\"], \"packages\": [\"postgresql\"],"
    " \"mounts\": [{\"dev\": \"/dev/sdc1\", \"dir\": \"/var/lib/postgresql\"}],"
    " \"limits\": {\"memory\": 16384, \"files\": {\"soft\": 8192}}}",
    "{\"name\": \"db2\", \"dns\": [], \"admins\": [], \"packages\": [\"postgresql\"], \"mounts\": [],"
    " \"limits\": {\"memory\": 16384}}",
    "{\"name\": \"build1\", \"admins\": [\"fay\"], \"packages\": [\"gcc\", \"make\"], \"mounts\": [],"
    " \"limits\": {\"cpu\": 32}}",
    "{\"name\": \"mail\", \"dns\": [\"10.0.0.7\"], \"packages\": [\"postfix\", \"rspamd\"], \"mounts\": []}",
};

#define N_HOSTS  (sizeof host_texts / sizeof host_texts[0])

struct host {
    struct json_object *doc;
    const char *name;
};

struct stats {
    int inherited, overridden, merged;
};

/* ---- small wrappers ------------------------------------------------- */

static struct json_object *parse(const char *text)
{
    enum json_tokener_error err;
    struct json_object *obj = json_tokener_parse_verbose(text, &err);

    if (!obj)
        fprintf(stderr, "parse error: %s\n", json_tokener_error_desc(err));
    return obj;
}

/* Borrowed, or NULL. */
static inline struct json_object *field(struct json_object *obj, const char *key)
{
    struct json_object *val;

    return json_object_object_get_ex(obj, key, &val) ? val : NULL;
}

static const char *string_field(struct json_object *obj, const char *key)
{
    struct json_object *val = field(obj, key);

    return val ? json_object_get_string(val) : "";
}

static int array_has(struct json_object *array, struct json_object *val)
{
    for (size_t i = 0; i < json_object_array_length(array); i++)
        if (json_object_equal(json_object_array_get_idx(array, i), val))
            return 1;
    return 0;
}

/* ---- merging the site's document into a host's ---------------------- */

static void merge_object(struct json_object *dst, struct json_object *src, struct stats *st);

/* dst already has a list: append the site's entries it lacks. */
static void merge_array(struct json_object *dst, struct json_object *src, struct stats *st)
{
    for (size_t i = 0; i < json_object_array_length(src); i++) {
        struct json_object *val = json_object_array_get_idx(src, i);

        if (array_has(dst, val))
            continue;
        json_object_array_add(dst, json_object_get(val));
        st->merged++;
    }
}

/* dst has no such key. Objects are copied since hosts edit them later. */
static void adopt(struct json_object *dst, const char *key, struct json_object *val, struct stats *st)
{
    struct json_object *copy = NULL;

    st->inherited++;
    switch (json_object_get_type(val)) {
    case json_type_object:
        json_object_deep_copy(val, &copy, NULL);
        json_object_object_add(dst, key, copy);
        break;
    case json_type_array:
        /* lists are never changed once merged, share them */
#ifdef BUG
        json_object_object_add(dst, key, val);                       /* GUILTY */
#else
        json_object_object_add(dst, key, json_object_get(val));
#endif
        break;
    default:
        json_object_object_add(dst, key, json_object_get(val));
        break;
    }
}

static void merge_object(struct json_object *dst, struct json_object *src, struct stats *st)
{
    json_object_object_foreach(src, key, val) {
        struct json_object *own = field(dst, key);

        if (!own)
            adopt(dst, key, val, st);
        else if (json_object_is_type(own, json_type_object)
                 && json_object_is_type(val, json_type_object))
            merge_object(own, val, st);
        else if (json_object_is_type(own, json_type_array)
                 && json_object_is_type(val, json_type_array))
            merge_array(own, val, st);
        else
            st->overridden++;
    }
}

/* ---- checks and edits on a merged host ------------------------------ */

static int check_limits(struct json_object *doc)
{
    struct json_object *files = field(field(doc, "limits"), "files");

    return json_object_get_int(field(files, "soft")) <= json_object_get_int(field(files, "hard"));
}

static int check_mounts(struct json_object *doc)
{
    struct json_object *mounts = field(doc, "mounts");

    for (size_t i = 0; i < json_object_array_length(mounts); i++)
        if (strcmp(string_field(json_object_array_get_idx(mounts, i), "dir"), "/") == 0)
            return 1;
    return 0;
}

static int check_dns(struct json_object *doc)
{
    return json_object_array_length(field(doc, "dns")) >= 2;
}

static const struct {
    const char *what;
    int (*ok)(struct json_object *doc);
} checks[] = {
    { "file limits", check_limits },
    { "root mount", check_mounts },
    { "name servers", check_dns },
};

static void raise_limits(struct json_object *doc)
{
    struct json_object *files = field(field(doc, "limits"), "files");
    int soft = json_object_get_int(field(files, "soft"));

    if (soft > json_object_get_int(field(files, "hard")))
        json_object_object_add(files, "hard", json_object_new_int(soft));
}

static int run_checks(const struct host *h)
{
    int failed = 0;

    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        if (!checks[i].ok(h->doc)) {
            printf("%s: check failed: %s\n", h->name, checks[i].what);
            failed++;
        }
    return failed;
}

/* An index "package -> [host names]" over all hosts. */
static struct json_object *index_packages(const struct host *hosts, size_t n)
{
    struct json_object *index = json_object_new_object();

    for (size_t i = 0; i < n; i++) {
        struct json_object *packages = field(hosts[i].doc, "packages");

        for (size_t j = 0; j < json_object_array_length(packages); j++) {
            const char *p = json_object_get_string(json_object_array_get_idx(packages, j));
            struct json_object *users = field(index, p);

            if (!users) {
                users = json_object_new_array();
                json_object_object_add(index, p, users);
            }
            json_object_array_add(users, json_object_get(field(hosts[i].doc, "name")));
        }
    }
    return index;
}

int main(void)
{
    struct json_object *site = parse(site_text), *index;
    struct host hosts[N_HOSTS];
    struct stats st = { 0 };
    size_t bytes = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!site)
        return 1;
    for (size_t i = 0; i < N_HOSTS; i++) {
        hosts[i].doc = parse(host_texts[i]);
        hosts[i].name = string_field(hosts[i].doc, "name");
        merge_object(hosts[i].doc, site, &st);
        raise_limits(hosts[i].doc);
        run_checks(&hosts[i]);
        bytes += strlen(json_object_to_json_string_ext(hosts[i].doc, JSON_C_TO_STRING_PLAIN));
    }
    index = index_packages(hosts, N_HOSTS);
    printf("%zu hosts, %zu bytes: %d inherited, %d overridden, %d entries merged\n",
           N_HOSTS, bytes, st.inherited, st.overridden, st.merged);
    printf("nginx on %s\n", json_object_to_json_string(field(index, "nginx")));

    for (size_t i = 0; i < N_HOSTS; i++)
        json_object_put(hosts[i].doc);
    json_object_put(index);
    printf("done with %s\n", string_field(site, "domain"));
    json_object_put(site);
    return 0;
}

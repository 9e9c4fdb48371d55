/* summary: apply_share(): json_object_get() returns a borrowed reference, json_object_set_new() steals the one it is given, so the profile and the service share one reference (json_object_set() or json_incref() needed); the second of them to go away decrefs a deleted value.
 * kind: missing-get
 * counts: deficit
 * objects: 3
 * track: auto
 * packages: jansson
 * build: gcc -g -O2
 * exit: 0
 */
/* jconf - expand a fleet configuration: defaults, profiles, "extends", checks */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char config_text[] =
"{\n"
" 'defaults': {'log': {'level': 'info', 'sinks': ['stderr']},\n"
"              'retry': {'max': 3, 'delay': 0.5}, 'port': 8000},\n"
" 'profiles': {\n"
"   'edge':  {'retry': {'max': 9, 'delay': 0.1}, 'tls': {'min': '1.2'}},\n"
"   'core':  {'retry': {'max': 5, 'delay': 2.0}, 'numa': {'nodes': [0, 1]}},\n"
"   'batch': {'nice': 10, 'window': {'from': 22, 'to': 6}},\n"
"   'dmz':   {'tls': {'min': '1.3'}, 'acl': {'allow': ['10.0.0.0/8']}}\n"
" },\n"
" 'services': [\n"
"   {'name': 'auth', 'profile': 'edge'},\n"
"   {'name': 'ledger', 'profile': 'core', 'port': 9001},\n"
"   {'name': 'mail'},\n"
"   {'name': 'relay', 'extends': 'mail', 'share': ['acl'], 'profile': 'dmz'},\n"
"   {'name': 'report', 'profile': 'batch', 'log': {'level': 'warn'}},\n"
"   {'name': 'search', 'profile': 'core', 'retry': {'max': 1}},\n"
"   {'name': 'proxy', 'extends': 'auth', 'profile': 'edge', 'share': ['tls']},\n"
"   {'name': 'vault', 'profile': 'dmz', 'port': 8200},\n"
"   {'name': 'nightly', 'extends': 'report', 'profile': 'batch', 'share': ['window']},\n"
"   {'name': 'index', 'profile': 'core'},\n"
"   {'name': 'broken', 'profile': 'nowhere'},\n"
"   {'name': 'orphan', 'extends': 'nobody'},\n"
"   {'name': 'cron', 'profile': 'batch', 'port': 0}\n"
" ]\n"
"}\n";

struct stats {
    unsigned services, errors, inherited, shared, ports;
};

static unsigned long hash_text(unsigned long h, const char *s)
{
    for (; *s; s++)
        h = (h * 33 ^ (unsigned char)*s) & 0xffffffff;
    return h;
}

/* Copies members which `dst` does not have yet; the values are shared. */
static unsigned inherit(json_t *dst, json_t *src)
{
    const char *key;
    json_t *value;
    unsigned n = 0;

    json_object_foreach(src, key, value) {
        if (!json_object_get(dst, key)) {
            json_object_set(dst, key, value);
            n++;
        }
    }
    return n;
}

/* Members listed in "share" come from the profile even when set already. */
static int apply_share(json_t *svc, json_t *profile, struct stats *st)
{
    json_t *list = json_object_get(svc, "share"), *item;
    size_t i;

    json_array_foreach(list, i, item) {
        const char *key = json_string_value(item);
        json_t *value = json_object_get(profile, key);

        if (!value)
            return -1;
#ifdef BUG
        json_object_set_new(svc, key, value);       /* GUILTY */
#else
        json_object_set(svc, key, value);
#endif
        st->shared++;
    }
    json_object_del(svc, "share");
    return 0;
}

static json_t *find_service(json_t *done, const char *name)
{
    json_t *svc;
    size_t i;

    json_array_foreach(done, i, svc)
        if (!strcmp(json_string_value(json_object_get(svc, "name")), name))
            return svc;
    return NULL;
}

/* Returns a new reference, or NULL when the description is wrong. */
static json_t *expand(json_t *root, json_t *raw, json_t *done, struct stats *st)
{
    json_t *svc = json_copy(raw);
    json_t *profile = NULL, *parent;
    const char *name;

    name = json_string_value(json_object_get(svc, "profile"));
    if (name) {
        profile = json_object_get(json_object_get(root, "profiles"), name);
        if (!profile)
            goto fail;
    }
    if (profile && apply_share(svc, profile, st) < 0)
        goto fail;

    name = json_string_value(json_object_get(svc, "extends"));
    if (name) {
        parent = find_service(done, name);
        if (!parent)
            goto fail;
        st->inherited += inherit(svc, parent);
        json_object_del(svc, "extends");
    }
    if (profile)
        st->inherited += inherit(svc, profile);
    st->inherited += inherit(svc, json_object_get(root, "defaults"));

    if (json_integer_value(json_object_get(svc, "port")) <= 0)
        goto fail;
    return svc;

fail:
    json_decref(svc);
    return NULL;
}

/* Ports have to be different: give every later user of a port a new one. */
static void assign_ports(json_t *done, struct stats *st)
{
    json_t *used = json_object(), *svc;
    char key[16];
    size_t i;

    json_array_foreach(done, i, svc) {
        json_int_t port = json_integer_value(json_object_get(svc, "port"));

        for (;; port++) {
            snprintf(key, sizeof key, "%d", (int)port);
            if (!json_object_get(used, key))
                break;
        }
        json_object_set(used, key, svc);
        if (port != json_integer_value(json_object_get(svc, "port"))) {
            json_object_set_new(svc, "port", json_integer(port));
            st->ports++;
        }
    }
    json_decref(used);
}

static json_t *load(const char *text)
{
    char *copy = strdup(text), *p;
    json_error_t err;
    json_t *root;

    for (p = copy; *p; p++)
        if (*p == '\'')
            *p = '"';
    root = json_loads(copy, 0, &err);
    if (!root) {
        fprintf(stderr, "line %d: %s\n", err.line, err.text);
        exit(1);
    }
    free(copy);
    return root;
}

int main(void)
{
    struct stats st = { 0 };
    json_t *root = load(config_text);
    json_t *done = json_array();
    json_t *raw, *svc;
    unsigned long sum = 5381;
    size_t i;

    json_array_foreach(json_object_get(root, "services"), i, raw) {
        svc = expand(root, raw, done, &st);
        if (!svc) {
            st.errors++;
            continue;
        }
        json_array_append_new(done, svc);
        st.services++;
    }
    assign_ports(done, &st);

    json_array_foreach(done, i, svc) {
        char *text = json_dumps(svc, JSON_COMPACT | JSON_SORT_KEYS);
        json_t *log = json_object_get(svc, "log");

        printf("%-8s port %d log %s\n",
               json_string_value(json_object_get(svc, "name")),
               (int)json_integer_value(json_object_get(svc, "port")),
               json_string_value(json_object_get(log, "level")));
        sum = hash_text(sum, text);
        free(text);
    }
    printf("%u services, %u errors, %u inherited, %u shared, %u ports moved, "
           "checksum %08lx\n", st.services, st.errors, st.inherited,
           st.shared, st.ports, sum);

    json_decref(done);
    json_decref(root);
    return 0;
}

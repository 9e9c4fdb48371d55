/* summary: a manifest that fails its checks has its borrowed list of lines put beside the manifest itself
 * kind: extra-put
 * counts: deficit
 * objects: 1
 * track: json_object
 * packages: json-c
 * build: gcc -O3 -g
 */
/* Customs pre-check: manifests arrive as JSON, are checked line by line, and are filed or sent back with a reason. */
#include <errno.h>
#include <json-c/json.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DESK_MAX 16

struct filed {
	char vessel[24];
	struct json_object *manifest;
	int64_t duty_cents;
};

struct returned {
	struct json_object *manifest;
	const char *reason;
	int line;
};

struct desk {
	struct filed filed[DESK_MAX];
	unsigned filed_count;
	struct returned returned[DESK_MAX];
	unsigned returned_count;
	struct json_object *rates;
	struct json_object *summary;
};

static const char *const arrivals[] = {
	"{\"vessel\":\"MS Halcyon\",\"port\":\"NLRTM\",\"lines\":["
	"{\"code\":\"0901\",\"kg\":18000,\"value\":54000},{\"code\":\"1801\",\"kg\":4000,\"value\":9100}]}",
	"{\"vessel\":\"Petra K\",\"port\":\"DEHAM\",\"lines\":["
	"{\"code\":\"8517\",\"kg\":900,\"value\":410000},{\"code\":\"8471\",\"kg\":1200,\"value\":630000}]}",
	"{\"vessel\":\"Nordlys\",\"lines\":[{\"code\":\"4403\",\"kg\":71000,\"value\":22000}]}",
	"{\"vessel\":\"Anna-Lena\",\"port\":\"PLGDN\",\"lines\":\"see paper\"}",
	"{\"vessel\":\"Oriole\",\"port\":\"BEANR\",\"lines\":[{\"code\":\"8517\",\"kg\":45,\"value\":19900}]}",
	"{\"vessel\":\"Torn",
	"{\"vessel\":\"Vega Sound\",\"port\":\"SEGOT\",\"lines\":["
	"{\"code\":\"0901\",\"kg\":2500,\"value\":8000},{\"code\":\"0000\",\"kg\":10,\"value\":1},"
	"{\"code\":\"1801\",\"kg\":700,\"value\":1500}]}",
};

static struct json_object *load_rates(void)
{
	static const struct { const char *code; double rate; } table[] = {
		{ "0901", 0.075 }, { "1801", 0.0 }, { "4403", 0.02 }, { "8471", 0.0 }, { "8517", 0.017 },
	};
	struct json_object *rates = json_object_new_object();

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		json_object_object_add(rates, table[i].code, json_object_new_double(table[i].rate));
	return rates;
}

static const char *string_member(struct json_object *object, const char *key)
{
	struct json_object *member;

	if (!json_object_object_get_ex(object, key, &member) || !json_object_is_type(member, json_type_string))
		return NULL;
	return json_object_get_string(member);
}

static int64_t int_member(struct json_object *object, const char *key)
{
	struct json_object *member;

	return json_object_object_get_ex(object, key, &member) ? json_object_get_int64(member) : 0;
}

static int check_line(struct desk *desk, struct json_object *line, int64_t *duty)
{
	const char *code = string_member(line, "code");
	struct json_object *rate;
	int64_t value = int_member(line, "value");

	if (!code || int_member(line, "kg") <= 0)
		return -EINVAL;
	if (!json_object_object_get_ex(desk->rates, code, &rate))
		return -ENOENT;
	*duty += (int64_t)((double)value * 100.0 * json_object_get_double(rate));
	return 0;
}

static void count_up(struct json_object *summary, const char *key)
{
	json_object_object_add(summary, key, json_object_new_int64(int_member(summary, key) + 1));
}

/* Keeps the manifest, with a reference of its own. */
static void send_back(struct desk *desk, struct json_object *manifest, const char *reason, int line)
{
	struct returned *slot;

	count_up(desk->summary, reason);
	if (desk->returned_count == DESK_MAX)
		return;
	slot = &desk->returned[desk->returned_count++];
	slot->manifest = json_object_get(manifest);
	slot->reason = reason;
	slot->line = line;
}

static int file_manifest(struct desk *desk, struct json_object *manifest, int64_t duty)
{
	const char *vessel = string_member(manifest, "vessel");
	struct filed *slot;

	if (!vessel || desk->filed_count == DESK_MAX)
		return -ENOSPC;
	slot = &desk->filed[desk->filed_count++];
	snprintf(slot->vessel, sizeof slot->vessel, "%s", vessel);
	slot->manifest = json_object_get(manifest);
	slot->duty_cents = duty;
	count_up(desk->summary, "filed");
	return 0;
}

static int check_manifest(struct desk *desk, const char *text)
{
	struct json_object *manifest = json_tokener_parse(text);
	struct json_object *lines = NULL;
	int64_t duty = 0;
	size_t count, i = 0;
	int err = -EINVAL;

	if (!manifest) {
		count_up(desk->summary, "unreadable");
		return -EBADMSG;
	}
	if (!string_member(manifest, "port")) {
		send_back(desk, manifest, "no port", 0);
		goto out;
	}
	if (!json_object_object_get_ex(manifest, "lines", &lines) || !json_object_is_type(lines, json_type_array)) {
		send_back(desk, manifest, "no lines", 0);
		goto out;
	}
	count = json_object_array_length(lines);
	for (i = 0; i < count; i++) {
		err = check_line(desk, json_object_array_get_idx(lines, i), &duty);
		if (err)
			goto bad_line;
	}
	err = file_manifest(desk, manifest, duty);
	goto out;

bad_line:
	send_back(desk, manifest, err == -ENOENT ? "unknown code" : "bad line", (int)i + 1);
#ifdef BUG
	json_object_put(lines); /* GUILTY */
#endif
out:
	json_object_put(manifest);
	return err;
}

static void print_returned(const struct returned *slot)
{
	struct json_object *lines = json_object_object_get(slot->manifest, "lines");
	unsigned length = 0;

	if (json_object_is_type(lines, json_type_array))
		length = (unsigned)json_object_array_length(lines);
	printf("returned: %s, %s", string_member(slot->manifest, "vessel"), slot->reason);
	if (slot->line)
		printf(" in line %d", slot->line);
	printf(" (%u lines)\n", length);
}

static void print_desk(struct desk *desk)
{
	for (unsigned i = 0; i < desk->filed_count; i++) {
		const struct filed *slot = &desk->filed[i];

		printf("filed: %s by %s, duty %lld.%02lld\n", slot->vessel, string_member(slot->manifest, "port"),
		       (long long)(slot->duty_cents / 100), (long long)(slot->duty_cents % 100));
	}
	for (unsigned i = 0; i < desk->returned_count; i++)
		print_returned(&desk->returned[i]);
	printf("%s\n", json_object_to_json_string(desk->summary));
}

static void close_desk(struct desk *desk)
{
	while (desk->filed_count)
		json_object_put(desk->filed[--desk->filed_count].manifest);
	while (desk->returned_count)
		json_object_put(desk->returned[--desk->returned_count].manifest);
	json_object_put(desk->rates);
	json_object_put(desk->summary);
}

int main(void)
{
	struct desk desk = { 0 };
	unsigned good = 0;

	desk.rates = load_rates();
	desk.summary = json_object_new_object();
	if (!desk.rates || !desk.summary)
		return 2;
	for (size_t i = 0; i < sizeof arrivals / sizeof *arrivals; i++)
		if (check_manifest(&desk, arrivals[i]) == 0)
			good++;
	print_desk(&desk);
	close_desk(&desk);
	return good == 3 ? 0 : 1;
}

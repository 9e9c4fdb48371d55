/* summary: an orchard's trees as json-c objects: shared branches, user data that owns other objects, puts by replacing, a tokener that keeps what it began, arrays that shrink
 * track: json_object
 * build: gcc -O0 -g orchard_grafts.c -o OUT $(pkg-config --cflags --libs json-c)
 */
#include <json.h>
#include <json_visit.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int dropped;

/* User data is a reference to another object, given back when this one is freed or gets other user data. */
static void drop_origin(struct json_object *object, void *data)
{
	(void)object;
	dropped++;
	json_object_put(data);
}

static void set_origin(struct json_object *graft, struct json_object *origin)
{
	json_object_set_userdata(graft, json_object_get(origin), drop_origin);
}

static struct json_object *make_tree(const char *kind, int age)
{
	struct json_object *tree = json_object_new_object();
	json_object_object_add(tree, "kind", json_object_new_string(kind));
	json_object_object_add(tree, "age", json_object_new_int(age));
	json_object_object_add(tree, "branches", json_object_new_array_ext(2));
	return tree;
}

static struct json_object *branches_of(struct json_object *tree)
{
	struct json_object *branches = NULL;
	json_object_object_get_ex(tree, "branches", &branches);
	return branches;                             /* borrowed */
}

/* One branch on many trees: each array has a reference. */
static void graft(struct json_object *tree, struct json_object *branch)
{
	if (json_object_array_add(branches_of(tree), json_object_get(branch)) < 0)
		json_object_put(branch);
}

/* Parses in pieces; between them the tokener has the only reference to what is half done. */
static struct json_object *parse_in_pieces(const char *text, size_t piece)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *result = NULL;
	size_t length = strlen(text) + 1;
	for (size_t at = 0; at < length && !result; at += piece) {
		size_t now = length - at < piece ? length - at : piece;
		result = json_tokener_parse_ex(tokener, text + at, (int)now);
		if (!result && json_tokener_get_error(tokener) != json_tokener_continue)
			break;
	}
	json_tokener_free(tokener);
	return result;
}

static int count_numbers(json_object *object, int flags, json_object *parent, const char *key, size_t *index, void *data)
{
	(void)parent, (void)key, (void)index;
	if (flags != JSON_C_VISIT_SECOND && json_object_is_type(object, json_type_int))
		++*(int *)data;
	return JSON_C_VISIT_RETURN_CONTINUE;
}

/* A copy takes the tree but not the branches' origins. */
static int copy_user_data(struct json_object *from, struct json_object *parent, const char *key, size_t index, struct json_object **to)
{
	int result = json_c_shallow_copy_default(from, parent, key, index, to);
	if (result >= 0 && json_object_get_userdata(from)) {
		json_object_set_userdata(*to, NULL, NULL);
		result = 2;                              /* no serializer to copy */
	}
	return result;
}

/* A queue of references as integers, with a tag in the lowest bit: 1 are borrowed. */
struct work {
	uintptr_t *items;
	unsigned used, room;
};

static void work_add(struct work *work, struct json_object *object, int borrowed)
{
	if (work->used == work->room) {
		work->room = work->room ? work->room * 2 : 2;
		work->items = realloc(work->items, work->room * sizeof *work->items);
	}
	work->items[work->used++] = (uintptr_t)object | (unsigned)borrowed;
}

static int64_t work_drain(struct work *work)
{
	int64_t sum = 0;
	while (work->used) {
		uintptr_t item = work->items[--work->used];
		struct json_object *object = (struct json_object *)(item & ~(uintptr_t)1);
		sum += json_object_get_int64(object);
		if (!(item & 1))
			json_object_put(object);
	}
	free(work->items);
	memset(work, 0, sizeof *work);
	return sum;
}

int main(void)
{
	int bad = 0;
	struct json_object *orchard = json_object_new_array();
	struct json_object *branch = json_object_new_string("Bramley");
	struct json_object *origin = make_tree("apple", 90);
	set_origin(branch, origin);
	json_object_put(origin);                     /* the branch keeps it */
	for (int i = 0; i < 8; i++) {
		struct json_object *tree = make_tree(i % 2 ? "apple" : "pear", i * 3);
		graft(tree, branch);
		if (i % 3 == 0)
			graft(tree, branch);
		json_object_array_add(orchard, tree);
	}
	json_object_put(branch);

	/* Overwritten members: the table puts what it had. The same value again is a reference more and one less. */
	struct json_object *first = json_object_array_get_idx(orchard, 0);
	json_object_object_add(first, "age", json_object_new_int(100));
	json_object_object_add(first, "age", json_object_get(json_object_object_get(first, "age")));
	json_object_object_add(first, "note", NULL);
	json_object_object_del(first, "note");
	json_object_object_add(first, "twin", json_object_get(json_object_array_get_idx(orchard, 1)));

	/* Overwrites and removes places of an array, one beyond its end. */
	json_object_array_put_idx(orchard, 3, json_object_get(json_object_array_get_idx(orchard, 2)));
	json_object_array_put_idx(orchard, 11, make_tree("quince", 5));
	json_object_array_del_idx(orchard, 8, 3);    /* the empty ones */
	json_object_array_del_idx(orchard, 5, 1);
	json_object_array_shrink(orchard, 0);

	/* A tree is taken out before what holds it falls. */
	struct json_object *taken = json_object_get(json_object_array_get_idx(orchard, 2));
	bad += json_object_array_length(orchard) != 8;

	int numbers = 0;
	json_c_visit(orchard, 0, count_numbers, &numbers);
	bad += numbers < 8;

	struct json_object *copy = NULL;
	if (json_object_deep_copy(orchard, &copy, copy_user_data) == 0)
		bad += json_object_array_length(copy) != 8;
	json_object_put(copy);

	/* Pieces: a whole one, a broken one that the tokener's free gives back, and trailing text. */
	struct json_object *report = parse_in_pieces("{\"trees\":[{\"age\":1},{\"age\":2},3],\"ok\":true}", 5);
	bad += !report;
	struct json_object *broken = parse_in_pieces("{\"trees\":[1,2,{\"a\":[true,", 7);
	bad += broken != NULL;
	broken = parse_in_pieces("[1,2,}", 4);
	bad += broken != NULL;

	/* Sorted and iterated; a member that is removed while a reference is at hand. */
	struct json_object *trees = json_object_get(json_object_object_get(report, "trees"));
	json_object_object_del(report, "trees");
	struct work work = { 0 };
	for (size_t i = 0; i < json_object_array_length(trees); i++) {
		struct json_object *item = json_object_array_get_idx(trees, i), *age = item;
		if (json_object_is_type(item, json_type_object))
			json_object_object_get_ex(item, "age", &age);
		work_add(&work, i % 2 ? age : json_object_get(age), i % 2);
		work_add(&work, json_object_new_int64(1000), 0);
	}
	int64_t sum = work_drain(&work);
	bad += sum != 3006;
	bad += json_object_put(report) != 1;         /* the last */
	bad += json_object_put(trees) != 1;

	/* A pointer sets deep inside; it owns what it is given. */
	struct json_object *plan = json_object_new_object();
	json_pointer_set(&plan, "/rows", json_object_new_array());
	for (int i = 0; i < 5; i++)
		json_pointer_set(&plan, "/rows/-", json_object_get(taken));
	json_pointer_set(&plan, "/rows/1", json_object_new_boolean(1));
	struct json_object *row = NULL;
	json_pointer_get(plan, "/rows/2", &row);
	bad += row != taken;
	/* The root itself is replaced: the old one is put by it. */
	json_pointer_set(&plan, "", json_object_get(taken));
	bad += plan != taken;
	json_object_put(plan);

	bad += json_object_put(orchard) != 1;
	bad += dropped != 0;                         /* the branch is on the tree that was taken */
	bad += json_object_put(taken) != 1;
	bad += dropped != 1;
	bad += json_object_put(NULL) != 0;
	printf("%d numbers, sum %ld, %d origins dropped, %d bad\n", numbers, (long)sum, dropped, bad);
	return bad != 0;
}

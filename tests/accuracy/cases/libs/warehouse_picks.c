/* summary: the amount picked last is read from an order line after the order, which lent the line, is gone
 * kind: use-after-put
 * counts: none
 * objects: 1
 * track: json_object
 * packages: json-c
 * build: gcc -O3 -g
 * exit: 0
 */
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ORDERS 32

struct picker {
    const char *name;
    unsigned lines;
    int pieces;
};

struct warehouse {
    struct json_object *orders[MAX_ORDERS];
    unsigned length;
    struct json_object *stock;    /* article to pieces */
    struct json_object *shortage; /* array of lines */
    struct picker pickers[3];
    unsigned done, cancelled;
};

static const char *const articles[] = { "bolt", "cable", "drill", "glove", "hinge", "ladder", "plug", "screw" };
#define ARTICLES (sizeof articles / sizeof articles[0])

static struct json_object *line_new(const char *article, int pieces)
{
    struct json_object *line = json_object_new_object();

    if (!line)
        abort();
    json_object_object_add(line, "article", json_object_new_string(article));
    json_object_object_add(line, "pieces", json_object_new_int(pieces));
    return line;
}

static struct json_object *order_new(unsigned number)
{
    struct json_object *order = json_object_new_object();
    struct json_object *lines = json_object_new_array();

    json_object_object_add(order, "number", json_object_new_int((int) number));
    if (number % 7 == 3)
        json_object_object_add(order, "express", json_object_new_boolean(1));
    for (unsigned i = 0; i < number % 4 + 1; i++)
        json_object_array_add(lines, line_new(articles[(number * 3 + i) % ARTICLES], (int) (number % 5 + i * 2 + 1)));
    json_object_object_add(order, "lines", lines);
    return order;
}

static int order_number(struct json_object *order)
{
    return json_object_get_int(json_object_object_get(order, "number"));
}

static bool order_is_express(struct json_object *order)
{
    struct json_object *express;

    return json_object_object_get_ex(order, "express", &express) && json_object_get_boolean(express);
}

static int stock_of(struct warehouse *warehouse, const char *article)
{
    struct json_object *pieces;

    return json_object_object_get_ex(warehouse->stock, article, &pieces) ? json_object_get_int(pieces) : 0;
}

static void stock_take(struct warehouse *warehouse, const char *article, int pieces)
{
    int left = stock_of(warehouse, article) - pieces;

    json_object_object_add(warehouse->stock, article, json_object_new_int(left));
}

static bool pick_line(struct warehouse *warehouse, struct picker *picker, struct json_object *line)
{
    const char *article = json_object_get_string(json_object_object_get(line, "article"));
    int pieces = json_object_get_int(json_object_object_get(line, "pieces"));

    if (stock_of(warehouse, article) < pieces) {
        json_object_array_add(warehouse->shortage, json_object_get(line));
        return false;
    }
    stock_take(warehouse, article, pieces);
    picker->lines++;
    picker->pieces += pieces;
    return true;
}

/* Takes the order. */
static void pick_order(struct warehouse *warehouse, struct picker *picker, struct json_object *order)
{
    struct json_object *lines = json_object_object_get(order, "lines");
    size_t length = json_object_array_length(lines);
    unsigned picked = 0;

    for (size_t i = 0; i < length; i++)
        picked += pick_line(warehouse, picker, json_object_array_get_idx(lines, i));
    printf("%s: order %d, %u of %zu lines\n", picker->name, order_number(order), picked, length);
    warehouse->done++;
    json_object_put(order);
}

/* The express order goes through with its heaviest line first; tells how many pieces that was. */
static int pick_express(struct warehouse *warehouse, struct picker *picker, struct json_object *order)
{
    struct json_object *lines = json_object_object_get(order, "lines");
    struct json_object *heaviest = NULL, *pieces = NULL;
    size_t length = json_object_array_length(lines);

    for (size_t i = 0; i < length; i++) {
        struct json_object *line = json_object_array_get_idx(lines, i);
        struct json_object *amount = json_object_object_get(line, "pieces");
        if (!pieces || json_object_get_int(amount) > json_object_get_int(pieces)) {
            heaviest = line;
            pieces = amount;
        }
    }
    if (!heaviest || !pick_line(warehouse, picker, heaviest)) {
        warehouse->cancelled++;
        json_object_put(order);
        return 0;
    }
    warehouse->done++;
#ifdef BUG
    json_object_put(order); /* ACCEPTED */
    return json_object_get_int(pieces); /* GUILTY */
#else
    int result = json_object_get_int(pieces);
    json_object_put(order);
    return result;
#endif
}

static bool warehouse_cancel(struct warehouse *warehouse, int number)
{
    for (unsigned i = 0; i < warehouse->length; i++) {
        struct json_object *order = warehouse->orders[i];
        if (order_number(order) != number)
            continue;
        memmove(&warehouse->orders[i], &warehouse->orders[i + 1],
                (--warehouse->length - i) * sizeof warehouse->orders[0]);
        warehouse->cancelled++;
        json_object_put(order);
        return true;
    }
    return false;
}

/* Lines that were short come back as an order of their own. */
static void warehouse_reorder(struct warehouse *warehouse)
{
    struct json_object *order = json_object_new_object();
    struct json_object *lines = json_object_new_array();
    size_t length = json_object_array_length(warehouse->shortage);

    json_object_object_add(order, "number", json_object_new_int(900));
    for (size_t i = 0; i < length; i++) {
        struct json_object *line = json_object_array_get_idx(warehouse->shortage, i);
        json_object_array_add(lines, json_object_get(line));
        stock_take(warehouse, json_object_get_string(json_object_object_get(line, "article")), -20);
    }
    json_object_object_add(order, "lines", lines);
    json_object_put(warehouse->shortage);
    warehouse->shortage = json_object_new_array();
    warehouse->orders[warehouse->length++] = order;
}

static void warehouse_work(struct warehouse *warehouse)
{
    unsigned turn = 0;

    while (warehouse->length > 0) {
        struct json_object *order = warehouse->orders[--warehouse->length];
        struct picker *picker = &warehouse->pickers[turn++ % 3];

        if (order_is_express(order)) {
            int pieces = pick_express(warehouse, picker, order);
            if (pieces < 0 || pieces > 1000)
                printf("%s: odd express order\n", picker->name);
        } else {
            pick_order(warehouse, picker, order);
        }
    }
}

int main(void)
{
    struct warehouse warehouse = { .pickers = { { .name = "Ines" }, { .name = "Jonas" }, { .name = "Kim" } } };

    warehouse.stock = json_object_new_object();
    warehouse.shortage = json_object_new_array();
    for (size_t i = 0; i < ARTICLES; i++)
        json_object_object_add(warehouse.stock, articles[i], json_object_new_int(40 - (int) i * 3));
    for (unsigned number = 1; number <= 23; number++)
        warehouse.orders[warehouse.length++] = order_new(number);

    printf("%d cancelled by the customer\n", warehouse_cancel(&warehouse, 5) + warehouse_cancel(&warehouse, 11) +
                                                 warehouse_cancel(&warehouse, 16) + warehouse_cancel(&warehouse, 99));
    warehouse_work(&warehouse);
    warehouse_reorder(&warehouse);
    warehouse_work(&warehouse);
    for (unsigned i = 0; i < 3; i++)
        printf("%s: %u lines, %d pieces\n", warehouse.pickers[i].name, warehouse.pickers[i].lines,
               warehouse.pickers[i].pieces);
    printf("%u done, %u cancelled, %zu still short\n", warehouse.done, warehouse.cancelled,
           json_object_array_length(warehouse.shortage));
    printf("stock: %s\n", json_object_to_json_string_ext(warehouse.stock, JSON_C_TO_STRING_PLAIN));
    json_object_put(warehouse.shortage);
    json_object_put(warehouse.stock);
    return 0;
}

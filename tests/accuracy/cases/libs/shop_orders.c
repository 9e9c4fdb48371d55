/* summary: order_price() returns for an article that is sold out without giving back the copy of the order that it has been pricing
 * kind: missing-put
 * counts: surplus
 * objects: 2
 * track: own
 * packages: jansson
 * build: gcc -O0 -g
 * exit: 0
 */
/* Orders of a shop come in as JSON, are priced against a catalogue, and go out as JSON. */

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shop {
    json_t *catalogue; /* owned: article -> { cents, stock } */
    json_t *accepted;  /* owned array */
    json_t *rejected;  /* owned array of reasons */
    json_t *last;      /* owned, the last one that was accepted; may be NULL */
    long long turnover;
};

static const char catalogue_text[] =
    "{ \"mug\": { \"cents\": 850, \"stock\": 14 }, \"plate\": { \"cents\": 1250, \"stock\": 30 },"
    "  \"spoon\": { \"cents\": 300, \"stock\": 100 }, \"teapot\": { \"cents\": 4900, \"stock\": 2 },"
    "  \"bowl\": { \"stock\": 5 } }";

static int shop_open(struct shop *shop)
{
    json_error_t error;

    memset(shop, 0, sizeof *shop);
    shop->catalogue = json_loads(catalogue_text, 0, &error);
    if (!shop->catalogue) {
        fprintf(stderr, "catalogue, line %d: %s\n", error.line, error.text);
        return -1;
    }
    shop->accepted = json_array();
    shop->rejected = json_array();
    return 0;
}

static void shop_close(struct shop *shop)
{
    json_decref(shop->last);
    json_decref(shop->rejected);
    json_decref(shop->accepted);
    json_decref(shop->catalogue);
}

static void reject(struct shop *shop, const char *why, const char *article)
{
    json_array_append_new(shop->rejected, json_pack("{s:s, s:s}", "why", why, "article", article));
}

/* Takes the pieces that were reserved for the lines before `upto` back. */
static void unreserve(struct shop *shop, json_t *lines, size_t upto)
{
    for (size_t i = 0; i < upto; i++) {
        json_t *line = json_array_get(lines, i);
        const char *name = json_string_value(json_object_get(line, "article"));
        json_t *article = json_object_get(shop->catalogue, name);
        json_int_t n = json_integer_value(json_object_get(line, "pieces"));

        json_object_set_new(article, "stock",
                            json_integer(json_integer_value(json_object_get(article, "stock")) + n));
    }
}

/* A priced copy of `order` for the caller, or NULL. */
static json_t *order_price(struct shop *shop, json_t *order)
{
    json_t *priced = json_copy(order); /* ACCEPTED */
    json_t *lines = json_object_get(priced, "lines"), *line;
    json_int_t total = 0;
    size_t i;

    json_array_foreach(lines, i, line) {
        const char *name = json_string_value(json_object_get(line, "article"));
        json_int_t pieces = json_integer_value(json_object_get(line, "pieces")), stock;
        json_t *article, *cents;

        article = name ? json_object_get(shop->catalogue, name) : NULL;
        if (!article) {
            reject(shop, "unknown", name ? name : "?");
            unreserve(shop, lines, i);
            json_decref(priced);
            return NULL;
        }
        cents = json_object_get(article, "cents");
        if (!json_is_integer(cents)) {
            reject(shop, "no price", name);
            unreserve(shop, lines, i);
            json_decref(priced);
            return NULL;
        }
        stock = json_integer_value(json_object_get(article, "stock"));
        if (stock < pieces) {
            reject(shop, "sold out", name);
            unreserve(shop, lines, i);
#ifdef BUG
            return NULL; /* GUILTY */
#else
            json_decref(priced);
            return NULL;
#endif
        }
        json_object_set_new(article, "stock", json_integer(stock - pieces));
        total += pieces * json_integer_value(cents);
    }
    json_object_set_new(priced, "total", json_integer(total));
    shop->turnover += total;
    return priced;
}

static int order_take(struct shop *shop, const char *text)
{
    json_t *order = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *priced;

    if (!order) {
        reject(shop, "no JSON", "");
        return -1;
    }
    if (!json_is_array(json_object_get(order, "lines"))) {
        reject(shop, "no lines", "");
        json_decref(order);
        return -1;
    }
    priced = order_price(shop, order);
    json_decref(order);
    if (!priced)
        return -1;
    json_decref(shop->last);
    shop->last = json_incref(priced);
    return json_array_append_new(shop->accepted, priced);
}

int main(void)
{
    static const char *const articles[] = { "mug", "plate", "spoon", "teapot", "bowl", "fork" };
    struct shop shop;
    unsigned x = 3;
    char *text;

    if (shop_open(&shop) < 0)
        return 1;
    for (int i = 0; i < 26; i++) {
        char order[256];

        x = x * 75 + 74;
        x %= 65537;
        if (i == 9)
            strcpy(order, "{ \"customer\": 9, \"lines\": ");
        else if (i == 13)
            strcpy(order, "{ \"customer\": 13, \"lines\": 4 }");
        else
            snprintf(order, sizeof order,
                     "{ \"customer\": %d, \"lines\": [ { \"article\": \"spoon\", \"pieces\": %u },"
                     " { \"article\": \"%s\", \"pieces\": %u } ] }",
                     i, 1 + x % 4, articles[x / 8 % 6], 1 + x / 64 % 2);
        order_take(&shop, order);
    }
    text = json_dumps(shop.rejected, JSON_COMPACT | JSON_SORT_KEYS);
    printf("%zu accepted, %lld cents\n%s\n", json_array_size(shop.accepted), shop.turnover, text);
    printf("the last one was for customer %lld\n",
           (long long)json_integer_value(json_object_get(shop.last, "customer")));
    free(text);
    shop_close(&shop);
    return 0;
}

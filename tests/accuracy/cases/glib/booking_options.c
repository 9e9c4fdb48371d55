/*
 * summary: the loop over the options of a booking is left by break, so that nobody lets go of the value in hand
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: GVariant
 * packages: glib-2.0
 * build: clang -O2 -g
 */
#include <glib.h>
#include <string.h>

/* A booking comes as (sua{sv}): guest, nights, options. */

typedef struct {
    char *guest;
    guint nights;
    gboolean breakfast;
    guint extra_beds;
    GVariant *arrival; /* (uu): hour and minute, or NULL */
} Booking;

typedef enum { CHECK_OK, CHECK_UNKNOWN_OPTION, CHECK_WRONG_TYPE, CHECK_TOO_LONG } Check;

static const struct {
    const char *name;
    const char *type;
} known_options[] = {
    { "breakfast", "b" },
    { "extra-beds", "u" },
    { "arrival", "(uu)" },
    { "remark", "s" },
};

static const char *check_text(Check check)
{
    switch (check) {
    case CHECK_OK:
        return "accepted";
    case CHECK_UNKNOWN_OPTION:
        return "unknown option";
    case CHECK_WRONG_TYPE:
        return "option of a wrong type";
    case CHECK_TOO_LONG:
        return "too long a stay";
    }
    return "?";
}

static Check check_option(const char *name, GVariant *value)
{
    for (gsize i = 0; i < G_N_ELEMENTS(known_options); i++) {
        if (strcmp(known_options[i].name, name) != 0)
            continue;
        if (!g_variant_is_of_type(value, G_VARIANT_TYPE(known_options[i].type)))
            return CHECK_WRONG_TYPE;
        return CHECK_OK;
    }
    return CHECK_UNKNOWN_OPTION;
}

static Check check_options(GVariant *options, char **culprit)
{
    GVariantIter iter;
    const char *name;
    GVariant *value;
    Check check = CHECK_OK;

    g_variant_iter_init(&iter, options);
    while (g_variant_iter_loop(&iter, "{&sv}", &name, &value)) {
        check = check_option(name, value);
        if (check != CHECK_OK) { /* ACCEPTED */
            *culprit = g_strdup(name);
#ifndef BUG
            g_variant_unref(value);
#endif
            break; /* GUILTY */
        }
    }
    return check;
}

static guint count_chargeable(GVariant *options)
{
    GVariantIter iter;
    const char *name;
    GVariant *value;
    guint chargeable = 0;

    g_variant_iter_init(&iter, options);
    while (g_variant_iter_next(&iter, "{&sv}", &name, &value)) {
        if (g_variant_is_of_type(value, G_VARIANT_TYPE_BOOLEAN) && g_variant_get_boolean(value))
            chargeable++;
        else if (g_variant_is_of_type(value, G_VARIANT_TYPE_UINT32))
            chargeable += g_variant_get_uint32(value);
        g_variant_unref(value);
    }
    return chargeable;
}

static void booking_free(gpointer data)
{
    Booking *booking = data;
    g_clear_pointer(&booking->arrival, g_variant_unref);
    g_free(booking->guest);
    g_free(booking);
}

static Check booking_parse(GVariant *message, Booking **out, char **culprit)
{
    GVariant *guest = g_variant_get_child_value(message, 0);
    GVariant *nights = g_variant_get_child_value(message, 1);
    GVariant *options = g_variant_get_child_value(message, 2);
    Check check;

    if (g_variant_get_uint32(nights) > 28) {
        check = CHECK_TOO_LONG;
        goto out;
    }
    check = check_options(options, culprit);
    if (check != CHECK_OK)
        goto out;

    Booking *booking = g_new0(Booking, 1);
    booking->guest = g_variant_dup_string(guest, NULL);
    booking->nights = g_variant_get_uint32(nights);
    g_variant_lookup(options, "breakfast", "b", &booking->breakfast);
    g_variant_lookup(options, "extra-beds", "u", &booking->extra_beds);
    booking->arrival = g_variant_lookup_value(options, "arrival", G_VARIANT_TYPE("(uu)"));
    *out = booking;

out:
    g_variant_unref(options);
    g_variant_unref(nights);
    g_variant_unref(guest);
    return check;
}

/* ---- the desk: messages wait in a queue that the gateway's thread fills ---- */

typedef struct {
    GAsyncQueue *messages; /* GVariant */
    GPtrArray *bookings;
    GVariant *last_refused;
    guint refused, chargeable;
} Desk;

static GVariant *make_message(const char *guest, guint nights, ...)
{
    GVariantBuilder options;
    va_list arguments;
    const char *name;

    g_variant_builder_init(&options, G_VARIANT_TYPE_VARDICT);
    va_start(arguments, nights);
    while ((name = va_arg(arguments, const char *)))
        g_variant_builder_add(&options, "{sv}", name, va_arg(arguments, GVariant *));
    va_end(arguments);
    return g_variant_ref_sink(g_variant_new("(su@a{sv})", guest, nights, g_variant_builder_end(&options)));
}

static gpointer gateway(gpointer data)
{
    GAsyncQueue *queue = data;

    g_async_queue_push(queue, make_message("Ansgar", 3, "breakfast", g_variant_new_boolean(TRUE), NULL));
    g_async_queue_push(queue, make_message("Birte", 2, "extra-beds", g_variant_new_uint32(1), "arrival",
                                           g_variant_new("(uu)", 21u, 30u), NULL));
    g_async_queue_push(queue, make_message("Cosmin", 1, "breakfast", g_variant_new_boolean(FALSE), "extra-beds",
                                           g_variant_new_string("two, please"), NULL));
    g_async_queue_push(queue, make_message("Dorota", 60, "breakfast", g_variant_new_boolean(TRUE), NULL));
    g_async_queue_push(queue, make_message("Emil", 5, "remark", g_variant_new_string("ground floor"), "parking",
                                           g_variant_new_boolean(TRUE), "breakfast", g_variant_new_boolean(TRUE),
                                           NULL));
    g_async_queue_push(queue, make_message("Freja", 4, NULL));
    g_async_queue_push(queue, make_message("Gaspard", 2, "arrival", g_variant_new_string("late"), NULL));
    g_async_queue_push(queue, make_message("Hedda", 7, "arrival", g_variant_new("(uu)", 16u, 0u), "remark",
                                           g_variant_new_string("allergic to feathers"), NULL));
    g_async_queue_push(queue, g_variant_ref_sink(g_variant_new_boolean(FALSE)));
    g_async_queue_unref(queue);
    return NULL;
}

static void desk_handle(Desk *desk, GVariant *message)
{
    Booking *booking = NULL;
    char *culprit = NULL;
    Check check = booking_parse(message, &booking, &culprit);

    if (check == CHECK_OK) {
        GVariant *options = g_variant_get_child_value(message, 2);
        desk->chargeable += count_chargeable(options);
        g_variant_unref(options);
        g_ptr_array_add(desk->bookings, booking);
    } else {
        const char *guest;
        g_variant_get_child(message, 0, "&s", &guest);
        g_print("%s: %s%s%s\n", guest, check_text(check), culprit ? ": " : "", culprit ? culprit : "");
        g_clear_pointer(&desk->last_refused, g_variant_unref);
        desk->last_refused = g_variant_ref(message);
        desk->refused++;
    }
    g_free(culprit);
}

int main(void)
{
    Desk desk = {
        .messages = g_async_queue_new_full((GDestroyNotify) g_variant_unref),
        .bookings = g_ptr_array_new_with_free_func(booking_free),
    };
    GThread *thread = g_thread_new("gateway", gateway, g_async_queue_ref(desk.messages));

    for (;;) {
        GVariant *message = g_async_queue_pop(desk.messages);
        gboolean last = g_variant_is_of_type(message, G_VARIANT_TYPE_BOOLEAN);
        if (!last)
            desk_handle(&desk, message);
        g_variant_unref(message);
        if (last)
            break;
    }
    g_thread_join(thread);

    for (guint i = 0; i < desk.bookings->len; i++) {
        Booking *booking = g_ptr_array_index(desk.bookings, i);
        guint hour = 14, minute = 0;
        if (booking->arrival)
            g_variant_get(booking->arrival, "(uu)", &hour, &minute);
        g_print("%s: %u nights from %02u:%02u, %u extra beds%s\n", booking->guest, booking->nights, hour, minute,
                booking->extra_beds, booking->breakfast ? ", breakfast" : "");
    }
    g_print("%u bookings, %u refused, %u extras to charge\n", desk.bookings->len, desk.refused, desk.chargeable);

    g_clear_pointer(&desk.last_refused, g_variant_unref);
    g_ptr_array_unref(desk.bookings);
    g_async_queue_unref(desk.messages);
    return 0;
}

/*
 * summary: the search for a control point drops the older candidate without an unref when a second one of the same grade is closer
 * kind: overwritten
 * counts: surplus
 * objects: 2
 * track: GObject
 * packages: gio-2.0
 * libs: -lm
 * build: gcc -O2 -g
 */
#include <gio/gio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A station: a point in the field whose coordinates were measured. Grade 1 is the best. */

#define SURVEY_TYPE_STATION (survey_station_get_type())
G_DECLARE_FINAL_TYPE(SurveyStation, survey_station, SURVEY, STATION, GObject)

struct _SurveyStation
{
    GObject parent;
    gchar *label;
    gdouble east;
    gdouble north;
    guint grade;
    guint sightings;
};

G_DEFINE_TYPE(SurveyStation, survey_station, G_TYPE_OBJECT)

static void survey_station_finalize(GObject *object)
{
    SurveyStation *self = SURVEY_STATION(object);

    g_free(self->label);
    G_OBJECT_CLASS(survey_station_parent_class)->finalize(object);
}

static void survey_station_class_init(SurveyStationClass *klass)
{
    G_OBJECT_CLASS(klass)->finalize = survey_station_finalize;
}

static void survey_station_init(SurveyStation *self)
{
    self->grade = 9;
}

static SurveyStation *survey_station_new(const gchar *label, gdouble east, gdouble north, guint grade)
{
    SurveyStation *self = g_object_new(SURVEY_TYPE_STATION, NULL);

    self->label = g_strdup(label);
    self->east = east;
    self->north = north;
    self->grade = grade;
    return self;
}

static gdouble survey_station_distance(SurveyStation *self, gdouble east, gdouble north)
{
    return hypot(self->east - east, self->north - north);
}

/* A plot: corner points of a parcel, each tied to the station it was measured from. */

#define SURVEY_TYPE_PLOT (survey_plot_get_type())
G_DECLARE_FINAL_TYPE(SurveyPlot, survey_plot, SURVEY, PLOT, GObject)

typedef struct
{
    gdouble east;
    gdouble north;
    SurveyStation *from;
} Corner;

struct _SurveyPlot
{
    GObject parent;
    gchar *number;
    GArray *corners;
    SurveyStation *control;
};

G_DEFINE_TYPE(SurveyPlot, survey_plot, G_TYPE_OBJECT)

static void corner_clear(gpointer data)
{
    g_clear_object(&((Corner *)data)->from);
}

static void survey_plot_dispose(GObject *object)
{
    SurveyPlot *self = SURVEY_PLOT(object);

    g_clear_object(&self->control);
    if (self->corners != NULL)
        g_array_set_size(self->corners, 0);
    G_OBJECT_CLASS(survey_plot_parent_class)->dispose(object);
}

static void survey_plot_finalize(GObject *object)
{
    SurveyPlot *self = SURVEY_PLOT(object);

    g_array_unref(self->corners);
    g_free(self->number);
    G_OBJECT_CLASS(survey_plot_parent_class)->finalize(object);
}

static void survey_plot_class_init(SurveyPlotClass *klass)
{
    G_OBJECT_CLASS(klass)->dispose = survey_plot_dispose;
    G_OBJECT_CLASS(klass)->finalize = survey_plot_finalize;
}

static void survey_plot_init(SurveyPlot *self)
{
    self->corners = g_array_new(FALSE, TRUE, sizeof(Corner));
    g_array_set_clear_func(self->corners, corner_clear);
}

static void survey_plot_add_corner(SurveyPlot *self, gdouble east, gdouble north, SurveyStation *from)
{
    Corner corner = {east, north, g_object_ref(from)};

    from->sightings++;
    g_array_append_val(self->corners, corner);
}

static gdouble survey_plot_area(SurveyPlot *self)
{
    gdouble twice = 0;

    for (guint i = 0; i < self->corners->len; i++) {
        const Corner *a = &g_array_index(self->corners, Corner, i);
        const Corner *b = &g_array_index(self->corners, Corner, (i + 1) % self->corners->len);

        twice += a->east * b->north - b->east * a->north;
    }
    return fabs(twice) / 2;
}

/* Returns the station with that label, or NULL; the caller owns it. */
static SurveyStation *find_station(GListModel *stations, const gchar *label)
{
    const guint count = g_list_model_get_n_items(stations);

    for (guint i = 0; i < count; i++) {
        SurveyStation *station = g_list_model_get_item(stations, i);

        if (strcmp(station->label, label) == 0)
            return station;
        g_object_unref(station);
    }
    return NULL;
}

/* Returns the station of the best grade within reach; among equals the closest one. The caller owns it. */
static SurveyStation *find_control(GListModel *stations, gdouble east, gdouble north, gdouble reach)
{
    SurveyStation *best = NULL;
    gdouble best_distance = reach;
    const guint count = g_list_model_get_n_items(stations);

    for (guint i = 0; i < count; i++) {
        SurveyStation *station = g_list_model_get_item(stations, i);
        const gdouble distance = survey_station_distance(station, east, north);

        if (distance > reach) {
            g_object_unref(station);
            continue;
        }
        if (best == NULL || station->grade < best->grade) {
            g_clear_object(&best);
            best = station;
            best_distance = distance;
        } else if (station->grade == best->grade && distance < best_distance) {
#ifndef BUG
            g_object_unref(best);
#endif
            best = station; /* GUILTY */
            best_distance = distance;
        } else {
            g_object_unref(station);
        }
    }
    return best;
}

static gboolean read_stations(GInputStream *input, GListStore *stations, GError **error)
{
    GDataInputStream *lines = g_data_input_stream_new(input);
    gchar *line;

    while ((line = g_data_input_stream_read_line(lines, NULL, NULL, error)) != NULL) {
        gchar **fields = g_strsplit(line, ";", 4);

        g_free(line);
        if (g_strv_length(fields) != 4) {
            g_strfreev(fields);
            continue;
        }
        SurveyStation *station = survey_station_new(fields[0], g_ascii_strtod(fields[1], NULL),
                                                    g_ascii_strtod(fields[2], NULL),
                                                    (guint)g_ascii_strtoull(fields[3], NULL, 10));
        g_list_store_append(stations, station);
        g_object_unref(station);
        g_strfreev(fields);
    }
    g_object_unref(lines);
    return *error == NULL;
}

/* A line of the field book: plot;east;north;station. A station of "*" asks for the control point nearby. */
static SurveyPlot *measure_plot(GListModel *stations, const gchar *number, const gchar *const *book)
{
    SurveyPlot *plot = g_object_new(SURVEY_TYPE_PLOT, NULL);

    plot->number = g_strdup(number);
    for (; *book != NULL; book++) {
        gchar **fields = g_strsplit(*book, ";", 3);
        const gdouble east = g_ascii_strtod(fields[0], NULL);
        const gdouble north = g_ascii_strtod(fields[1], NULL);
        SurveyStation *from = strcmp(fields[2], "*") == 0 ? find_control(stations, east, north, 120.0)
                                                          : find_station(stations, fields[2]);

        if (from == NULL) {
            printf("plot %s: no station %s for a corner\n", number, fields[2]);
        } else {
            survey_plot_add_corner(plot, east, north, from);
            g_object_unref(from);
        }
        g_strfreev(fields);
    }
    const Corner *first = &g_array_index(plot->corners, Corner, 0);
    plot->control = find_control(stations, first->east, first->north, 500.0);
    return plot;
}

static const gchar field_data[] = "TP1;100.0;100.0;2\nTP2;180.0;120.0;2\nTP3;260.0;90.0;3\nTP4;90.0;240.0;3\n"
                                  "TP5;400.0;380.0;1\n# no station\nTP6;420.0;395.0;3\nTP7;640.0;610.0;2\nTP8;690.0;655.0;2\n";

static const gchar *const book_211[] = {"110;105;TP1", "150;105;*", "150;160;TP1", "110;160;TP4", NULL};
static const gchar *const book_212[] = {"410;385;*", "450;385;TP6", "450;430;TP9", "430;440;TP6", "410;430;TP5", NULL};
static const gchar *const book_215[] = {"700;660;TP8", "740;660;*", "720;720;TP7", NULL};

int main(void)
{
    GError *error = NULL;
    GListStore *stations = g_list_store_new(SURVEY_TYPE_STATION);
    GInputStream *input = g_memory_input_stream_new_from_data(field_data, sizeof field_data - 1, NULL);
    GPtrArray *plots = g_ptr_array_new_with_free_func(g_object_unref);

    if (!read_stations(input, stations, &error)) {
        printf("cannot read the stations: %s\n", error->message);
        g_error_free(error);
    }
    g_object_unref(input);

    g_ptr_array_add(plots, measure_plot(G_LIST_MODEL(stations), "211", book_211));
    g_ptr_array_add(plots, measure_plot(G_LIST_MODEL(stations), "212", book_212));
    g_ptr_array_add(plots, measure_plot(G_LIST_MODEL(stations), "215", book_215));

    for (guint i = 0; i < plots->len; i++) {
        SurveyPlot *plot = g_ptr_array_index(plots, i);

        printf("plot %s: %u corners, %.1f square metres, control %s\n", plot->number, plot->corners->len,
               survey_plot_area(plot), plot->control != NULL ? plot->control->label : "none");
    }
    SurveyStation *busiest = find_station(G_LIST_MODEL(stations), "TP6");
    printf("%s was used %u times\n", busiest->label, busiest->sightings);
    g_object_unref(busiest);

    g_ptr_array_unref(plots);
    g_object_unref(stations);
    return 0;
}

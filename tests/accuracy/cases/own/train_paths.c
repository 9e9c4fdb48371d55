/*
 * summary: a path that cannot be set lets go of its sections but still lists them, and the caller's clean-up puts them again
 * kind: extra-put
 * counts: deficit
 * objects: 3
 * track: own
 * build: gcc -O2 -g
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An interlocking: track sections are shared by the plan of the station, by the paths that are set for trains and by the trains
   that stand on them. A path takes all of its sections or none. */

#define MOST_SECTIONS 12
#define MOST_LEGS 8

struct section {
    char name[16];
    int metres;
    int users;
    bool blocked;
    unsigned passes;
};

struct path {
    struct path *next;
    char train[12];
    struct section *legs[MOST_LEGS];
    int count;
    int position;
};

struct station {
    struct section *sections[MOST_SECTIONS];
    int count;
    struct path *paths;
    int refused;
    long metres;
};

static struct section *section_lay(const char *name, int metres)
{
    struct section *section = calloc(1, sizeof *section);
    if (!section)
        abort();
    snprintf(section->name, sizeof section->name, "%s", name);
    section->metres = metres;
    section->users = 1;
    return section;
}

static struct section *section_use(struct section *section)
{
    __atomic_add_fetch(&section->users, 1, __ATOMIC_RELAXED);
    return section;
}

static void section_unuse(struct section *section)
{
    if (section && __atomic_sub_fetch(&section->users, 1, __ATOMIC_ACQ_REL) == 0)
        free(section);
}

static void station_build(struct station *station)
{
    static const struct { const char *name; int metres; } plan[] = {
        {"west", 900}, {"w-throat", 240}, {"track-1", 420}, {"track-2", 420}, {"track-3", 380},
        {"e-throat", 260}, {"east", 1100}, {"siding", 180}, {"depot", 300},
    };
    memset(station, 0, sizeof *station);
    for (size_t i = 0; i < sizeof plan / sizeof *plan; i++)
        station->sections[station->count++] = section_lay(plan[i].name, plan[i].metres);
}

static struct section *station_section(struct station *station, const char *name, size_t length)
{
    for (int i = 0; i < station->count; i++)
        if (strlen(station->sections[i]->name) == length && !memcmp(station->sections[i]->name, name, length))
            return section_use(station->sections[i]);
    return NULL;
}

static void station_block(struct station *station, const char *name, bool blocked)
{
    struct section *section = station_section(station, name, strlen(name));
    if (section)
        section->blocked = blocked;
    section_unuse(section);
}

static bool path_set(struct path *path, struct station *station, const char *route)
{
    while (*route) {
        size_t length = strcspn(route, " ");
        struct section *section = station_section(station, route, length);
        if (!section || section->blocked || path->count == MOST_LEGS) {
            section_unuse(section);
            goto unset;
        }
        path->legs[path->count++] = section;
        route += length;
        route += strspn(route, " ");
    }
    return path->count > 0;

unset:
#ifdef BUG
    for (int i = path->count - 1; i >= 0; i--)
        section_unuse(path->legs[i]); /* GUILTY */
#else
    while (path->count > 0)
        section_unuse(path->legs[--path->count]);
#endif
    return false;
}

static void path_free(struct path *path)
{
    while (path->count > 0)
        section_unuse(path->legs[--path->count]); /* ACCEPTED */
    free(path);
}

static bool station_request(struct station *station, const char *train, const char *route)
{
    struct path *path = calloc(1, sizeof *path);
    if (!path)
        abort();
    snprintf(path->train, sizeof path->train, "%s", train);
    if (!path_set(path, station, route)) {
        station->refused++;
        path_free(path); /* ACCEPTED */
        return false;
    }
    path->next = station->paths;
    station->paths = path;
    return true;
}

/* Lets every train go on by one section; those at the end of their path leave. */
static int station_tick(struct station *station)
{
    int moved = 0;
    for (struct path **at = &station->paths; *at;) {
        struct path *path = *at;
        if (path->position == path->count) {
            *at = path->next;
            path_free(path);
            continue;
        }
        struct section *section = section_use(path->legs[path->position]);
        if (!section->blocked) {
            section->passes++;
            station->metres += section->metres;
            path->position++;
            moved++;
        }
        section_unuse(section);
        at = &path->next;
    }
    return moved;
}

static int path_metres(const struct path *path)
{
    int metres = 0;
    for (int i = path->position; i < path->count; i++)
        metres += path->legs[i]->metres;
    return metres;
}

static void station_board(const struct station *station)
{
    for (const struct path *path = station->paths; path; path = path->next)
        printf("%-8s %d of %d sections, %d m to go\n", path->train, path->position, path->count, path_metres(path));
}

static void station_extend(struct station *station, const char *train, const char *name)
{
    for (struct path *path = station->paths; path; path = path->next) {
        if (strcmp(path->train, train) || path->count == MOST_LEGS)
            continue;
        struct section *section = station_section(station, name, strlen(name));
        if (section)
            path->legs[path->count++] = section;
    }
}

static void station_close(struct station *station)
{
    while (station->paths) {
        struct path *path = station->paths;
        station->paths = path->next;
        path_free(path);
    }
    for (int i = 0; i < station->count; i++)
        section_unuse(station->sections[i]);
    station->count = 0;
}

int main(void)
{
    struct station station;
    int moves = 0;

    station_build(&station);
    station_request(&station, "RE 4", "west w-throat track-1 e-throat east");
    station_request(&station, "IC 207", "east e-throat track-2 w-throat west");
    for (int i = 0; i < 3; i++)
        moves += station_tick(&station);
    station_request(&station, "S 11", "west w-throat track-3");
    moves += station_tick(&station);
    station_extend(&station, "S 11", "siding");
    station_board(&station);
    for (int i = 0; i < 6; i++)
        moves += station_tick(&station);

    station_request(&station, "RB 60", "depot siding track-3");
    station_request(&station, "", "");
    station_block(&station, "east", true);
    station_request(&station, "IC 209", "w-throat track-2 e-throat east");
    station_block(&station, "east", false);
    station_request(&station, "FREIGHT", "west siding track-1 depot");
    for (int i = 0; i < 2; i++)
        moves += station_tick(&station);
    station_board(&station);

    unsigned passes = 0;
    for (int i = 0; i < station.count; i++)
        passes += station.sections[i]->passes;
    printf("%d moves, %u passes, %ld m, %d refused\n", moves, passes, station.metres, station.refused);
    station_close(&station);
    return 0;
}

/* summary: an alert on the escalation list is kept without a reference of the list
 * kind: missing-get
 * counts: deficit
 * objects: 4
 * track: own
 * libs: -pthread
 * build: gcc -O2 -g
 */
/* Flood warning of a river authority: stations report levels, alerts go to the senders of each channel (siren, pager), which are
 * threads, and stay on an escalation list until somebody has acknowledged them. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define NR_CHANNELS 2
#define NR_STATIONS 6
#define LOG_SIZE 32

struct kref {
	atomic_int refcount;
};

static inline void kref_init(struct kref *kref)
{
	atomic_init(&kref->refcount, 1);
}

static inline void kref_get(struct kref *kref)
{
	atomic_fetch_add_explicit(&kref->refcount, 1, memory_order_relaxed);
}

static inline bool kref_put(struct kref *kref)
{
	return atomic_fetch_sub_explicit(&kref->refcount, 1, memory_order_acq_rel) == 1;
}

struct alert {
	struct alert *next_pending;	/* escalation list */
	unsigned id;
	unsigned station;
	int level_cm;
	int severity;
	bool acknowledged;
	atomic_int deliveries;
	struct kref kref;
	char text[120];
};

struct channel {
	const char *name;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake, idle;
	struct alert *ring[LOG_SIZE];
	unsigned head, tail;
	bool busy, stopping;
	unsigned sent;
};

struct station {
	const char *river;
	int warn_cm, danger_cm;
	struct alert *last;		/* the last alert of the station, for repeats */
};

struct centre {
	struct channel channels[NR_CHANNELS];
	struct station stations[NR_STATIONS];
	struct alert *pending;
	struct alert *journal[LOG_SIZE];
	unsigned nr_journal;
	unsigned next_id;
	unsigned escalated;
};

static struct alert *alert_new(unsigned id, unsigned station, int level_cm, int severity)
{
	struct alert *alert = calloc(1, sizeof(*alert));

	if (!alert)
		abort();
	kref_init(&alert->kref);
	alert->id = id;
	alert->station = station;
	alert->level_cm = level_cm;
	alert->severity = severity;
	return alert;
}

static inline struct alert *alert_get(struct alert *alert)
{
	kref_get(&alert->kref);
	return alert;
}

static inline void alert_put(struct alert *alert)
{
	if (kref_put(&alert->kref))
		free(alert);
}

static void *channel_main(void *arg)
{
	struct channel *channel = arg;

	pthread_mutex_lock(&channel->lock);
	for (;;) {
		struct alert *alert;

		while (channel->head == channel->tail && !channel->stopping)
			pthread_cond_wait(&channel->wake, &channel->lock);
		if (channel->head == channel->tail)
			break;
		alert = channel->ring[channel->head++ % LOG_SIZE];
		channel->busy = true;
		pthread_mutex_unlock(&channel->lock);

		atomic_fetch_add(&alert->deliveries, 1);
		alert_put(alert);

		pthread_mutex_lock(&channel->lock);
		channel->sent++;
		channel->busy = false;
		pthread_cond_broadcast(&channel->idle);
	}
	pthread_mutex_unlock(&channel->lock);
	return NULL;
}

static void channel_start(struct channel *channel, const char *name)
{
	channel->name = name;
	pthread_mutex_init(&channel->lock, NULL);
	pthread_cond_init(&channel->wake, NULL);
	pthread_cond_init(&channel->idle, NULL);
	if (pthread_create(&channel->thread, NULL, channel_main, channel))
		abort();
}

static bool channel_send(struct channel *channel, struct alert *alert)
{
	pthread_mutex_lock(&channel->lock);
	bool room = channel->tail - channel->head < LOG_SIZE;
	if (room) {
		channel->ring[channel->tail++ % LOG_SIZE] = alert_get(alert);
		pthread_cond_signal(&channel->wake);
	}
	pthread_mutex_unlock(&channel->lock);
	return room;
}

static void channel_flush(struct channel *channel)
{
	pthread_mutex_lock(&channel->lock);
	while (channel->head != channel->tail || channel->busy)
		pthread_cond_wait(&channel->idle, &channel->lock);
	pthread_mutex_unlock(&channel->lock);
}

static void channel_stop(struct channel *channel)
{
	pthread_mutex_lock(&channel->lock);
	channel->stopping = true;
	pthread_cond_signal(&channel->wake);
	pthread_mutex_unlock(&channel->lock);
	pthread_join(channel->thread, NULL);
	pthread_cond_destroy(&channel->wake);
	pthread_cond_destroy(&channel->idle);
	pthread_mutex_destroy(&channel->lock);
}

static void add_pending(struct centre *centre, struct alert *alert)
{
	struct alert **at = &centre->pending;

	/* the worst comes first */
	while (*at && (*at)->severity >= alert->severity)
		at = &(*at)->next_pending;
	alert->next_pending = *at;
#ifdef BUG
	*at = alert; /* GUILTY */
#else
	*at = alert_get(alert);
#endif
}

static void report_level(struct centre *centre, unsigned number, int level_cm)
{
	struct station *station = &centre->stations[number];
	int severity = level_cm >= station->danger_cm ? 2 : level_cm >= station->warn_cm ? 1 : 0;
	struct alert *alert;

	if (!severity)
		return;
	if (station->last && station->last->severity >= severity) {
		channel_send(&centre->channels[0], station->last);
		return;
	}
	alert = alert_new(++centre->next_id, number, level_cm, severity);
	snprintf(alert->text, sizeof(alert->text), "%s at %d cm, %s", station->river, level_cm,
		 severity == 2 ? "leave the banks" : "watch the banks");
	channel_send(&centre->channels[0], alert);
	if (severity == 2) {
		channel_send(&centre->channels[1], alert);
		add_pending(centre, alert);
	}
	if (station->last)
		alert_put(station->last);
	station->last = alert_get(alert);
	if (centre->nr_journal < LOG_SIZE)
		centre->journal[centre->nr_journal++] = alert_get(alert);
	alert_put(alert);
}

static bool acknowledge(struct centre *centre, unsigned number)
{
	for (struct alert *alert = centre->pending; alert; alert = alert->next_pending) {
		if (alert->station == number && !alert->acknowledged) {
			alert->acknowledged = true;
			return true;
		}
	}
	return false;
}

/* Once an hour: what nobody has acknowledged goes out on every channel again. The list is empty afterwards. */
static void escalate(struct centre *centre)
{
	struct alert *alert;

	while ((alert = centre->pending)) {
		centre->pending = alert->next_pending;
		alert->next_pending = NULL;
		if (!alert->acknowledged) {
			for (int i = 0; i < NR_CHANNELS; i++)
				channel_send(&centre->channels[i], alert);
			centre->escalated++;
		}
		alert_put(alert); /* ACCEPTED */
	}
}

int main(void)
{
	static struct centre centre = {
		.stations = {
			{ "Aar", 210, 340, NULL }, { "Birk", 150, 220, NULL }, { "Calder", 400, 520, NULL },
			{ "Dove", 180, 260, NULL }, { "Esk", 300, 410, NULL }, { "Fal", 120, 200, NULL },
		},
	};
	static const int hours[3][NR_STATIONS] = {
		{ 190, 160, 390, 262, 290, 125 }, { 250, 231, 405, 270, 305, 130 }, { 345, 240, 530, 255, 310, 90 },
	};
	unsigned deliveries = 0, acknowledged = 0;

	channel_start(&centre.channels[0], "pager");
	channel_start(&centre.channels[1], "siren");
	for (int hour = 0; hour < 3; hour++) {
		for (unsigned i = 0; i < NR_STATIONS; i++)
			report_level(&centre, i, hours[hour][i]);
		acknowledged += acknowledge(&centre, hour == 1 ? 1 : 5);
		escalate(&centre);
	}
	for (int i = 0; i < NR_CHANNELS; i++)
		channel_flush(&centre.channels[i]);

	for (unsigned i = 0; i < centre.nr_journal; i++) {
		const struct alert *alert = centre.journal[i];

		printf("%2u %s (%d)\n", alert->id, alert->text, atomic_load(&alert->deliveries));
		deliveries += (unsigned)atomic_load(&alert->deliveries);
	}
	for (int i = 0; i < NR_CHANNELS; i++) {
		channel_stop(&centre.channels[i]);
		printf("%s sent %u\n", centre.channels[i].name, centre.channels[i].sent);
	}
	printf("%u deliveries, %u acknowledged, %u escalated\n", deliveries, acknowledged, centre.escalated);
	for (unsigned i = 0; i < NR_STATIONS; i++) {
		if (centre.stations[i].last)
			alert_put(centre.stations[i].last);
	}
	for (unsigned i = 0; i < centre.nr_journal; i++)
		alert_put(centre.journal[i]);
	return 0;
}

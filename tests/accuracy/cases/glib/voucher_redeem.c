/* summary: voucher_service_redeem_async() returns an error through the GTask for an expired voucher and leaves without unreffing the task
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: GObject
 * packages: gio-2.0
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "early g_task_return_error without g_object_unref of the task"
 */
/*
 * Redeems a batch of gift vouchers against a service object with the usual
 * pair of _async() and _finish().
 */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#define REDEEM_ERROR (redeem_error_quark())
G_DEFINE_QUARK(redeem-error-quark, redeem_error)

enum { REDEEM_MALFORMED, REDEEM_EXPIRED, REDEEM_USED, REDEEM_BUSY };

#define VOUCHER_TYPE_SERVICE (voucher_service_get_type())
G_DECLARE_FINAL_TYPE(VoucherService, voucher_service, VOUCHER, SERVICE, GObject)

struct _VoucherService {
	GObject parent;
	GHashTable *redeemed;	/* code -> amount */
	GQueue waiting;		/* of owned GTask */
	guint pump_id;
	int today;
};

G_DEFINE_TYPE(VoucherService, voucher_service, G_TYPE_OBJECT)

typedef struct {
	char *code;
	int cents;
} Claim;

static void claim_free(gpointer data)
{
	Claim *c = data;

	g_free(c->code);
	g_free(c);
}

static void voucher_service_finalize(GObject *object)
{
	VoucherService *self = VOUCHER_SERVICE(object);

	g_hash_table_unref(self->redeemed);
	G_OBJECT_CLASS(voucher_service_parent_class)->finalize(object);
}

static void voucher_service_class_init(VoucherServiceClass *klass)
{
	G_OBJECT_CLASS(klass)->finalize = voucher_service_finalize;
}

static void voucher_service_init(VoucherService *self)
{
	self->redeemed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_queue_init(&self->waiting);
}

static VoucherService *voucher_service_new(int today)
{
	VoucherService *self = g_object_new(VOUCHER_TYPE_SERVICE, NULL);

	self->today = today;
	return self;
}

/* One claim per turn of the main loop, in the order of arrival. */
static gboolean pump(gpointer data)
{
	VoucherService *self = data;
	GTask *task = g_queue_pop_head(&self->waiting);
	Claim *claim;

	if (task == NULL) {
		self->pump_id = 0;
		return G_SOURCE_REMOVE;
	}
	claim = g_task_get_task_data(task);
	if (g_task_return_error_if_cancelled(task)) {
		g_object_unref(task);
		return G_SOURCE_CONTINUE;
	}
	if (g_hash_table_contains(self->redeemed, claim->code)) {
		g_task_return_new_error(task, REDEEM_ERROR, REDEEM_USED,
					"%s was redeemed before", claim->code);
	} else {
		g_hash_table_insert(self->redeemed, g_strdup(claim->code),
				    GINT_TO_POINTER(claim->cents));
		g_task_return_int(task, claim->cents);
	}
	g_object_unref(task);
	return G_SOURCE_CONTINUE;
}

static void schedule(VoucherService *self, GTask *task)
{
	g_queue_push_tail(&self->waiting, task);
	if (self->pump_id == 0)
		self->pump_id = g_idle_add_full(G_PRIORITY_DEFAULT_IDLE, pump,
						g_object_ref(self), g_object_unref);
}

/* A code is KIND-DAY-AMOUNT, where DAY is the last day of validity. */
static gboolean parse_code(const char *code, int *day, int *cents)
{
	char kind[8];

	if (sscanf(code, "%7[A-Z]-%d-%d", kind, day, cents) != 3)
		return FALSE;
	return *cents > 0;
}

static void voucher_service_redeem_async(VoucherService *self, const char *code,
					 GCancellable *cancellable,
					 GAsyncReadyCallback callback, gpointer data)
{
	GTask *task = g_task_new(self, cancellable, callback, data);	/* ACCEPTED */
	Claim *claim;
	int day, cents;

	g_task_set_source_tag(task, voucher_service_redeem_async);
	if (!parse_code(code, &day, &cents)) {
		g_task_return_new_error(task, REDEEM_ERROR, REDEEM_MALFORMED,
					"\"%s\" is no voucher", code);
		g_object_unref(task);
		return;
	}
	if (day < self->today) {
		g_task_return_new_error(task, REDEEM_ERROR, REDEEM_EXPIRED,	/* ACCEPTED */
					"%s expired on day %d", code, day);
#ifdef BUG
		return;		/* GUILTY */
#else
		g_object_unref(task);
		return;
#endif
	}
	if (g_queue_get_length(&self->waiting) >= 64) {
		g_task_return_new_error(task, REDEEM_ERROR, REDEEM_BUSY, "queue is full");
		g_object_unref(task);
		return;
	}
	claim = g_new(Claim, 1);
	claim->code = g_strdup(code);
	claim->cents = cents;
	g_task_set_task_data(task, claim, claim_free);
	schedule(self, task);
}

static int voucher_service_redeem_finish(VoucherService *self, GAsyncResult *res, GError **error)
{
	g_return_val_if_fail(g_task_is_valid(res, self), -1);
	return g_task_propagate_int(G_TASK(res), error);
}

/* The shop. */

typedef struct {
	int pending;
	int accepted, cents;
	int failed[4];
	int cancelled;
} Till;

static void on_redeemed(GObject *source, GAsyncResult *res, gpointer data)
{
	Till *till = data;
	GError *error = NULL;
	int cents = voucher_service_redeem_finish(VOUCHER_SERVICE(source), res, &error);

	till->pending--;
	if (error == NULL) {
		till->accepted++;
		till->cents += cents;
		return;
	}
	if (error->domain == REDEEM_ERROR)
		till->failed[error->code]++;
	else if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		till->cancelled++;
	g_error_free(error);
}

static void till_redeem(Till *till, VoucherService *service, GCancellable *c, const char *code)
{
	till->pending++;
	voucher_service_redeem_async(service, code, c, on_redeemed, till);
}

static void till_settle(Till *till)
{
	while (till->pending > 0 || g_main_context_pending(NULL))
		g_main_context_iteration(NULL, TRUE);
}

/* What the customers at the counter brought. */
static const char *const counter_list[] = {
	"GIFT-140-2500", "GIFT-150-1000", "bogus", "XMAS-88-5000", "GIFT-140-2500",
	"LOYAL-200-300", "LOYAL-201-300", "GIFT-91-1500", "LOYAL-202-450", "GIFT-100-9900",
	"GIFT-110-0", "XMAS-170-2000", "STAFF-365-7500", "XMAS-170-2000", "GIFT-95-1200",
	"LOYAL-203-450", "LOYAL-204-450", "STAFF-12-500", "GIFT-333-333", "--",
};

static void redeem_online_batch(Till *till, VoucherService *service, int n)
{
	GCancellable *c = g_cancellable_new();

	for (int i = 0; i < n; i++) {
		char code[32];

		g_snprintf(code, sizeof code, "WEB-%d-%d", 120 + i, 100 * (1 + i % 7));
		till_redeem(till, service, i % 3 == 0 ? c : NULL, code);
	}
	g_cancellable_cancel(c);	/* the customer closed the page */
	till_settle(till);
	g_object_unref(c);
}

int main(void)
{
	VoucherService *service = voucher_service_new(100);
	Till till = { 0 };

	for (guint i = 0; i < G_N_ELEMENTS(counter_list); i++)
		till_redeem(&till, service, NULL, counter_list[i]);
	till_settle(&till);
	redeem_online_batch(&till, service, 30);
	redeem_online_batch(&till, service, 70);

	printf("accepted %d (%d.%02d)\n", till.accepted, till.cents / 100, till.cents % 100);
	printf("malformed %d, expired %d, used %d, busy %d, cancelled %d\n",
	       till.failed[REDEEM_MALFORMED], till.failed[REDEEM_EXPIRED],
	       till.failed[REDEEM_USED], till.failed[REDEEM_BUSY], till.cancelled);
	g_object_unref(service);
	return 0;
}

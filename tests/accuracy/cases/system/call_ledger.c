/* summary: ledger_on_error() tells the caller of an error but leaves the call in the table of those that wait for a reply
 * kind: held
 * counts: surplus
 * objects: 4
 * track: dbus
 * packages: dbus-1
 * build: gcc -O2 -g
 * exit: 0
 */
/* The client side of a heating control: calls are kept until their reply has come, so that they can be sent again.  The
   far end is played by a function, messages go through no socket. */
#include <dbus/dbus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IFACE "org.example.Heating1"

struct waiting
{
  struct waiting *next;
  dbus_uint32_t serial;
  DBusMessage *call;            /* a reference */
  int sent;
};

static struct waiting *ledger[8];       /* by serial */
static dbus_uint32_t last_serial;
static int n_replies, n_errors, n_resent, n_unknown;

static struct waiting **
ledger_slot (dbus_uint32_t serial)
{
  struct waiting **w = &ledger[serial % 8];

  while (*w != NULL && (*w)->serial != serial)
    w = &(*w)->next;
  return w;
}

static void
ledger_add (DBusMessage *call)
{
  struct waiting *w = calloc (1, sizeof (struct waiting));

  if (w == NULL)
    abort ();
  w->serial = dbus_message_get_serial (call);
  w->call = dbus_message_ref (call);    /* ACCEPTED */
  w->sent = 1;
  w->next = ledger[w->serial % 8];
  ledger[w->serial % 8] = w;
}

static int
ledger_remove (dbus_uint32_t serial)
{
  struct waiting **slot = ledger_slot (serial), *w = *slot;

  if (w == NULL)
    return 0;
  *slot = w->next;
  dbus_message_unref (w->call);
  free (w);
  return 1;
}

static DBusMessage *
call_new (const char *path, const char *member, double value)
{
  DBusMessage *m = dbus_message_new_method_call ("org.example.Heating", path, IFACE, member);

  if (m == NULL
      || !dbus_message_append_args (m, DBUS_TYPE_DOUBLE, &value, DBUS_TYPE_INVALID))
    abort ();
  dbus_message_set_serial (m, ++last_serial);
  return m;
}

/* The boiler's answer, for the caller to unref; NULL if it says nothing.  */
static DBusMessage *
boiler (DBusMessage *call)
{
  DBusMessage *answer;
  double value;

  if (!dbus_message_get_args (call, NULL, DBUS_TYPE_DOUBLE, &value, DBUS_TYPE_INVALID))
    return dbus_message_new_error (call, DBUS_ERROR_INVALID_ARGS, "a double");
  if (value > 90)
    return dbus_message_new_error (call, IFACE ".Error.TooHot", "mind your fingers");
  if (dbus_message_is_method_call (call, IFACE, "Vent") && dbus_message_get_serial (call) % 3 == 0)
    return NULL;
  answer = dbus_message_new_method_return (call);
  if (answer != NULL)
    dbus_message_append_args (answer, DBUS_TYPE_DOUBLE, &value, DBUS_TYPE_INVALID);
  return answer;
}

static void
ledger_on_return (DBusMessage *reply)
{
  if (ledger_remove (dbus_message_get_reply_serial (reply)))
    n_replies++;
  else
    n_unknown++;
}

static void
ledger_on_error (DBusMessage *reply)
{
  dbus_uint32_t serial = dbus_message_get_reply_serial (reply);
  struct waiting *w = *ledger_slot (serial);

  if (w == NULL)
    {
      n_unknown++;
      return;
    }
  n_errors++;   /* ACCEPTED */
  printf ("%s: %s\n", dbus_message_get_path (w->call), dbus_message_get_error_name (reply)); /* GUILTY */
#ifndef BUG
  ledger_remove (serial);
#endif
}       /* ACCEPTED */

static void
dispatch (DBusMessage *m)
{
  switch (dbus_message_get_type (m))
    {
    case DBUS_MESSAGE_TYPE_METHOD_RETURN:
      ledger_on_return (m);
      break;
    case DBUS_MESSAGE_TYPE_ERROR:
      ledger_on_error (m);      /* ACCEPTED */
      break;
    default:
      n_unknown++;
    }
}

static void
call_send (DBusMessage *call)
{
  DBusMessage *answer = boiler (call);

  if (answer == NULL)
    return;
  dispatch (answer);
  dbus_message_unref (answer);
}

/* Vents are tried twice; who does not answer then is given up.  */
static void
resend_vents (void)
{
  for (int i = 0; i < 8; i++)
    for (struct waiting *w = ledger[i], *next; w != NULL; w = next)
      {
        next = w->next;
        if (!dbus_message_has_member (w->call, "Vent"))
          continue;
        n_resent++;
        if (w->sent++ >= 2)
          ledger_remove (w->serial);
        else
          call_send (w->call);
      }
}

int
main (void)
{
  static const char *const rooms[] = { "/hall", "/kitchen", "/bath", "/study" };

  for (int hour = 0; hour < 40; hour++)
    {
      const char *room = rooms[hour % 4];
      DBusMessage *call;

      if (hour % 5 == 2)
        call = call_new (room, "Vent", hour);
      else
        call = call_new (room, "SetTarget", hour % 8 == 3 ? 95.0 : 18.0 + hour % 5);
      ledger_add (call);
      call_send (call);
      dbus_message_unref (call);
      if (hour % 10 == 9)
        resend_vents ();
    }
  resend_vents ();
  resend_vents ();
  printf ("%d replies, %d errors, %d sent again, %d unknown\n", n_replies, n_errors, n_resent, n_unknown);
  dbus_shutdown ();
  return 0;
}

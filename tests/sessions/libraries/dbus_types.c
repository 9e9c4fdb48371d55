// Messages, a listening server and a connection of libdbus. No bus is needed.
#include <dbus/dbus.h>

#include "tally.h"

static void *new_call(void) {
  return dbus_message_new_method_call("org.example.A", "/a", "org.example.I", "Do");
}

static DBusServer *listen_here(void) {
  DBusError error;
  dbus_error_init(&error);
  return dbus_server_listen("unix:tmpdir=/tmp", &error);
}

int main(void) {
  static void *kept[2];
  TWO_LIVES("DBusMessage", kept[0], new_call(), dbus_message_ref, dbus_message_unref);
  TWO_LIVES("DBusMessage", kept[1], dbus_message_new(DBUS_MESSAGE_TYPE_SIGNAL), dbus_message_ref,
            dbus_message_unref);
  DBusServer *server = listen_here();
  tally("init", "DBusServer", server);
  TAKE("DBusServer", server, dbus_server_ref);
  char *address = dbus_server_get_address(server);
  DBusConnection *connection = dbus_connection_open_private(address, NULL);
  tally("init", "DBusConnection", connection);
  TAKE("DBusConnection", connection, dbus_connection_ref);
  dbus_connection_close(connection);
  GIVE("DBusConnection", connection, dbus_connection_unref);
  dbus_server_disconnect(server);
  GIVE("DBusServer", server, dbus_server_unref);
  dbus_free(address);
  checkpoint();
  return 0;
}

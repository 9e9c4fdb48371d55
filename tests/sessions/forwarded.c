// Tickets of libsession_forwarded.so; with an argument one is forgotten.
struct ticket *ticket_new(long number);
struct ticket *ticket_ref(struct ticket *ticket);
void ticket_unref(struct ticket *ticket);
int ticket_serve(struct ticket *ticket);
int ticket_served(void);

int main(int argc, char **argv) {
  (void)argv;
  int sum = 0;
  for (int i = 0; i < 20; i++) {
    struct ticket *ticket = ticket_new(i);
    sum += ticket_serve(ticket);
    ticket_ref(ticket);
    ticket_unref(ticket);
    if (argc == 1 || i != 7) ticket_unref(ticket);
  }
  return sum == 190 && ticket_served() == (argc == 1 ? 20 : 19) ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper's part in a sandbox made ahead: what runsc is given for it, and what it answers. */
#include <errno.h>

#include "idle/idle.h"
#include "sandbox_priv.h"

/* Where wdr_command_spec.fds begin in the command. */
#define FIRST_FD 3

int wdr_keep_ahead_args(struct wdr_keeper *k, struct wdr_args *a, struct wdr_command_spec *c)
{
	static const struct {
		const char *flag;
		int in_guest; /* -1: the program itself */
	} rows[] = {
		{ "--exec-fd", -1 },
		{ "--pass-fd", WDR_IDLE_WORDS_FD },
		{ "--pass-fd", WDR_IDLE_ANSWER_FD },
	};
	int r = 0;

	if (!k->b->spec->ahead)
		return 0;
	k->ahead_fds[0] = k->b->ahead.idle_fd;
	k->ahead_fds[1] = k->b->ahead.words_fd;
	k->ahead_fds[2] = k->b->ahead.answer_fd;
	c->fds = k->ahead_fds;
	c->n_fds = sizeof(rows) / sizeof(rows[0]);
	for (size_t i = 0; r == 0 && i < c->n_fds; i++) {
		int fd = FIRST_FD + (int)i;

		r = rows[i].in_guest < 0 ?
			    wdr_args_addf(a, "%s=%d", rows[i].flag, fd) :
			    wdr_args_addf(a, "%s=%d:%d", rows[i].flag, fd, rows[i].in_guest);
	}
	return r;
}

void wdr_keep_close_ahead(struct wdr_keeper *k)
{
	struct wdr_ahead *a = &k->b->ahead;

	wdr_closep(&a->idle_fd);
	wdr_closep(&a->words_fd);
	wdr_closep(&a->answer_fd);
}

/* End of file: it has become the job, or is gone; which of them, the end of the guest tells. */
void wdr_keep_hear_answer(struct wdr_keeper *k)
{
	struct wdr_ahead *a = &k->b->ahead;
	struct wdr_keep_msg m = { .type = WDR_KEEP_RUNNING };
	struct wdr_idle_answer answer = { 0 };
	ssize_t n = a->answer_in_fd < 0 ? -1 : read(a->answer_in_fd, &answer, sizeof(answer));

	if (n < 0)
		return;
	wdr_closep(&a->answer_in_fd);
	if (n > 0) {
		m.type = WDR_KEEP_ANSWER;
		m.step = n == (ssize_t)sizeof(answer) ? answer.step : 0;
		m.value = answer.error;
	}
	if (n > 0 || k->taken)
		wdr_keep_send(k, &m);
}

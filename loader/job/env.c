/* SPDX-License-Identifier: Apache-2.0 */
/* What the program gets of words: its arguments, and an environment with nothing of the caller's
 * but what is named. */
#include <errno.h>
#include <string.h>

#include "job/job_priv.h"

static const char *const defaults[] = {
	"HOME=/home/user",
	"USER=user",
	"LANG=C.UTF-8",
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
};

#define N_DEFAULTS (sizeof(defaults) / sizeof(defaults[0]))

static bool named(const struct wdr_policy *p, const char *line)
{
	size_t len = strcspn(line, "=");

	for (size_t i = 0; i < p->n_env; i++) {
		if (strlen(p->env[i].name) == len && !memcmp(p->env[i].name, line, len))
			return true;
	}
	return false;
}

static int add(struct wdr_job *j, size_t *n, const char *name, const char *value)
{
	char *line = NULL;

	if (asprintf(&line, "%s%s%s", name, value ? "=" : "", value ? value : "") < 0)
		return -ENOMEM;
	j->envp[(*n)++] = line;
	return 0;
}

int wdr_job_make_env(struct wdr_job *j)
{
	const struct wdr_policy *p = j->o.policy;
	const char *term = j->o.tty ? getenv("TERM") : NULL;
	size_t n = 0;
	int r = 0;

	j->envp = calloc(N_DEFAULTS + p->n_env + 2, sizeof(*j->envp));
	if (!j->envp)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < N_DEFAULTS; i++) {
		if (!named(p, defaults[i]))
			r = add(j, &n, defaults[i], NULL);
	}
	if (r == 0 && term && !named(p, "TERM="))
		r = add(j, &n, "TERM", term);
	for (size_t i = 0; r == 0 && i < p->n_env; i++)
		r = add(j, &n, p->env[i].name, p->env[i].value);
	return r;
}

int wdr_job_copy_argv(struct wdr_job *j)
{
	size_t n = 0;

	while (j->o.argv && j->o.argv[n])
		n++;
	j->argv = calloc(n + 1, sizeof(*j->argv));
	if (!j->argv)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		j->argv[i] = strdup(j->o.argv[i]);
		if (!j->argv[i])
			return -ENOMEM;
	}
	return 0;
}

void wdr_job_free_words(struct wdr_job *j)
{
	char **lists[] = { j->argv, j->envp };

	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; lists[k] && lists[k][i]; i++)
			free(lists[k][i]);
		free(lists[k]);
	}
	j->argv = j->envp = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file "slots": a head, then a record a slot. Byte 0 locked is the table locked; a record
 * locked is a slot held. All locks are open-file-description locks: they end with the descriptor,
 * however its process does, and two slots of one process do not share one (fcntl(2), F_OFD_SETLK).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "base/wdr_io.h"
#include "net_priv.h"

#define MAGIC	    "wdrnet1"
#define LOCK_TRIES  5000
#define LOCK_TRY_MS 2 /* locks give no event to wait for; holders need about 2 ms */
#define RECORD_AT(slot) \
	((off_t)(sizeof(struct wdr_net_head) + (slot) * sizeof(struct wdr_net_record)))

_Static_assert(sizeof(struct wdr_net_record) == 64, "on disk");
_Static_assert(sizeof(struct wdr_net_head) == 128, "on disk");
_Static_assert(sizeof(MAGIC) == 8, "fits");

static int open_file(int dir_fd, int *ret_fd)
{
	int fd = openat(dir_fd, "slots", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int lock_range(int fd, off_t start, off_t len)
{
	struct flock l = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = len
	};

	if (fcntl(fd, F_OFD_SETLK, &l) == 0)
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
}

static int lock_table(int fd, struct wdr_err *err)
{
	int r = lock_range(fd, 0, 1);

	for (int i = 0; r == -EBUSY && i < LOCK_TRIES; i++) {
		(void)poll(NULL, 0, LOCK_TRY_MS);
		r = lock_range(fd, 0, 1);
	}
	if (r == -EBUSY)
		return wdr_err_set(err, r,
				   "another warder process holds the lock of network slots for "
				   "%d s: is one stopped?",
				   LOCK_TRIES * LOCK_TRY_MS / 1000);
	return r < 0 ? wdr_err_wrap(err, r, "lock network slots") : 0;
}

static int read_table(struct wdr_net_table *t)
{
	struct stat st;
	size_t n = 0;
	int r;

	if (fstat(t->fd, &st) < 0)
		return -errno;
	r = st.st_size ? wdr_pread_all(t->fd, &t->head, sizeof(t->head), 0) : -ENODATA;
	/* A file of nobody's or of another format: begin anew. Slots of it that live keep locks. */
	if (r == -ENODATA || (!r && memcmp(t->head.magic, MAGIC, sizeof(MAGIC)))) {
		memset(&t->head, 0, sizeof(t->head));
		memcpy(t->head.magic, MAGIC, sizeof(MAGIC));
		return 0;
	}
	if (r < 0)
		return r;
	n = ((size_t)st.st_size - sizeof(t->head)) / sizeof(t->records[0]);
	n = n < WDR_NET_MAX_SLOTS ? n : WDR_NET_MAX_SLOTS;
	if (!n)
		return 0;
	t->records = calloc(n, sizeof(t->records[0]));
	if (!t->records)
		return -ENOMEM;
	t->n_records = (unsigned int)n;
	return wdr_pread_all(t->fd, t->records, n * sizeof(t->records[0]), RECORD_AT(0));
}

int wdr_net_table_open(int dir_fd, struct wdr_net_table *ret, struct wdr_err *err)
{
	int r;

	*ret = (struct wdr_net_table){ .fd = -1 };
	r = open_file(dir_fd, &ret->fd);
	if (r < 0)
		return wdr_err_wrap(err, r, "open the table of network slots");
	r = lock_table(ret->fd, err);
	if (r == 0) {
		r = read_table(ret);
		if (r < 0)
			r = wdr_err_wrap(err, r, "read the table of network slots");
	}
	if (r < 0)
		wdr_net_table_close(ret);
	return r;
}

void wdr_net_table_close(struct wdr_net_table *t)
{
	wdr_closep(&t->fd);
	wdr_freep(&t->records);
	t->n_records = 0;
}

static int write_at(int fd, const void *buf, size_t n, off_t at)
{
	ssize_t put = pwrite(fd, buf, n, at);

	if (put < 0)
		return -errno;
	return (size_t)put == n ? 0 : -EIO;
}

int wdr_net_table_write_head(struct wdr_net_table *t)
{
	return write_at(t->fd, &t->head, sizeof(t->head), 0);
}

int wdr_net_table_write(struct wdr_net_table *t, unsigned int slot,
			const struct wdr_net_record *rec)
{
	if (slot < t->n_records)
		t->records[slot] = *rec;
	return write_at(t->fd, rec, sizeof(*rec), RECORD_AT(slot));
}

int wdr_net_table_write_own(int lock_fd, unsigned int slot, const struct wdr_net_record *rec)
{
	return write_at(lock_fd, rec, sizeof(*rec), RECORD_AT(slot));
}

int wdr_net_table_take(int dir_fd, unsigned int slot, int *ret_fd)
{
	int r = open_file(dir_fd, ret_fd);

	if (r < 0)
		return r;
	r = lock_range(*ret_fd, RECORD_AT(slot), sizeof(struct wdr_net_record));
	if (r < 0)
		wdr_closep(ret_fd);
	return r;
}

bool wdr_net_table_held(const struct wdr_net_table *t, unsigned int slot)
{
	struct flock l = { .l_type = F_WRLCK,
			   .l_whence = SEEK_SET,
			   .l_start = RECORD_AT(slot),
			   .l_len = sizeof(struct wdr_net_record) };

	return fcntl(t->fd, F_OFD_GETLK, &l) < 0 || l.l_type != F_UNLCK;
}

bool wdr_net_table_alive(const struct wdr_net_table *t, unsigned int slot)
{
	const struct wdr_net_record *rec = &t->records[slot];
	char link[IFNAMSIZ];

	if (!(rec->flags & WDR_NET_RECORD_USED))
		return false;
	if (wdr_net_table_held(t, slot))
		return true;
	wdr_net_link_name(slot, link);
	return (rec->flags & WDR_NET_RECORD_CONTAIN) && if_nametoindex(link) > 0;
}

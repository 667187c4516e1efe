/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program's own definitions come before the C library's for every library that it loads. Each counts and goes on to
 * the real one. For one thread.
 */
#include "counters.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

unsigned long counted_allocations;
unsigned long counted_locks;

/* glibc's names for the real ones: looking them up would itself need memory. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes)
{
	counted_allocations++;
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	counted_allocations++;
	return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
	counted_allocations++;
	return __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	counted_allocations++;
	return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **result, size_t alignment, size_t bytes)
{
	counted_allocations++;
	*result = __libc_memalign(alignment, bytes);
	return *result ? 0 : ENOMEM;
}

#define COUNT_LOCK(name, lock_t)                                              \
	int name(lock_t *lock)                                                \
	{                                                                     \
		static int (*real)(lock_t *);                                 \
                                                                              \
		if (!real)                                                    \
			real = (int (*)(lock_t *))dlsym(RTLD_NEXT, #name);    \
		counted_locks++;                                              \
		return real(lock);                                            \
	}

COUNT_LOCK(pthread_mutex_lock, pthread_mutex_t)
COUNT_LOCK(pthread_mutex_trylock, pthread_mutex_t)
COUNT_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
COUNT_LOCK(pthread_rwlock_tryrdlock, pthread_rwlock_t)
COUNT_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
COUNT_LOCK(pthread_rwlock_trywrlock, pthread_rwlock_t)

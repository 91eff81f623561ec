/* A part of a program with a lock, which findings.sh converts by memcached's semantic patch for that lock. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t slabs_lock = PTHREAD_MUTEX_INITIALIZER;
enum { crew = 4, rounds = 2000 };
static long chunks;

static void slabs_free(long how_many) {
    pthread_mutex_lock(&slabs_lock);
    chunks += how_many;
    pthread_mutex_unlock(&slabs_lock);
}

static void* work(void* argument) {
    for (int i = 0; i < rounds; i++) slabs_free(*(const long*)argument);
    return NULL;
}

int main(void) {
    pthread_t threads[crew];
    long numbers[crew];
    for (long i = 0; i < crew; i++) {
        numbers[i] = i + 1;
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < crew; i++) pthread_join(threads[i], NULL);
    printf("%ld\n", chunks);
    return 0;
}

/* A block whose unsafe call follows calls that libtutti-c makes safe. The other thread has run a block and still lives,
   so this thread's blocks have barriers. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sem_t opened, ended;
static long count;
static char* text;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void* other(void* nothing) {
    __transaction_atomic { ++count; }
    sem_post(&opened);
    sem_wait(&ended);
    return nothing;
}

// clang-format off
__attribute__((noinline)) static void update(int i) {
    __transaction_relaxed {  // line: update
        count += (long)strlen(text);
        if (i == 3) {
            char* const made = malloc(32);
            strncpy(made, text, 31);
            made[31] = 0;
            text = made;
            pthread_rwlock_wrlock(&lock);  // line: lock
            pthread_rwlock_unlock(&lock);
        }
    }
}
// clang-format on

int main(void) {
    pthread_t thread;
    text = "first";
    sem_init(&opened, 0, 0);
    sem_init(&ended, 0, 0);
    pthread_create(&thread, NULL, other, NULL);
    sem_wait(&opened);
    for (int i = 0; i != 4; ++i) update(i);
    sem_post(&ended);
    pthread_join(thread, NULL);
    return 0;
}

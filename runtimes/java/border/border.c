// The other side of Java: plain functions for java.lang.foreign, and those of JNI around them.

#include <jni.h>
#include <pthread.h>
#include <semaphore.h>

// The same functions as for Python. A text that the virtual machine copied is at another address than what it handed over.
#include "callee.c"

static const char TEXT[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
_Static_assert(sizeof TEXT == 101, "100 bytes and the end");

#define JAVA(name) JNICALL Java_Border_##name

static jclass border;
static jmethodID callee, callee_eight, callee_text;

JNIEXPORT void JAVA(open)(JNIEnv *env, jclass class) {
    border = (*env)->NewGlobalRef(env, class);
    callee = (*env)->GetStaticMethodID(env, class, "callee", "()V");
    callee_eight = (*env)->GetStaticMethodID(env, class, "calleeEight", "(JJJJJJJJ)J");
    callee_text = (*env)->GetStaticMethodID(env, class, "calleeText", "(Ljava/lang/String;)V");
}

JNIEXPORT jlong JAVA(entered)(JNIEnv *env, jclass class) { return (jlong)entered; }

JNIEXPORT jlong JAVA(copied)(JNIEnv *env, jclass class) { return (jlong)copied; }

JNIEXPORT void JAVA(down)(JNIEnv *env, jclass class) { down(); }

JNIEXPORT jlong JAVA(downEight)(JNIEnv *env, jclass class, jlong a, jlong b, jlong c, jlong d, jlong e, jlong f, jlong g, jlong h) {
    return down_eight(a, b, c, d, e, f, g, h);
}

JNIEXPORT jlong JAVA(downText)(JNIEnv *env, jclass class, jstring text) {
    jboolean is_copy = JNI_FALSE;
    const char *bytes = (*env)->GetStringUTFChars(env, text, &is_copy);
    if (bytes == NULL) return 0;
    handed = is_copy == JNI_TRUE ? NULL : bytes;
    size_t length = down_text(bytes, (size_t)(*env)->GetStringUTFLength(env, text));
    (*env)->ReleaseStringUTFChars(env, text, bytes);
    return (jlong)length;
}

JNIEXPORT void JAVA(back)(JNIEnv *env, jclass class) {
    entered++;
    (*env)->CallStaticVoidMethod(env, border, callee);
}

JNIEXPORT void JAVA(up)(JNIEnv *env, jclass class, jlong calls) {
    while (calls-- > 0) (*env)->CallStaticVoidMethod(env, border, callee);
}

JNIEXPORT void JAVA(upEight)(JNIEnv *env, jclass class, jlong calls) {
    while (calls-- > 0) {
        (*env)->CallStaticLongMethod(env, border, callee_eight, (jlong)1, (jlong)2, (jlong)3, (jlong)4, (jlong)5,
                                     (jlong)6, (jlong)7, (jlong)8);
    }
}

JNIEXPORT void JAVA(upText)(JNIEnv *env, jclass class, jlong calls) {
    while (calls-- > 0) {
        jstring text = (*env)->NewStringUTF(env, TEXT);
        if (text == NULL) return;
        copied++;
        (*env)->CallStaticVoidMethod(env, border, callee_text, text);
        (*env)->DeleteLocalRef(env, text);
    }
}

// A thread that the virtual machine does not know, which is attached for each call. It lives as long as the process: to make
// one for each batch would take as long as several calls.
static JavaVM *machine;
static jlong wanted;
static sem_t asked, answered;

static void *attached(void *nothing) {
    for (;;) {
        sem_wait(&asked);
        for (; wanted > 0; wanted--) {
            JNIEnv *env;
            if ((*machine)->AttachCurrentThread(machine, (void **)&env, NULL) != JNI_OK) break;
            (*env)->CallStaticVoidMethod(env, border, callee);
            (*machine)->DetachCurrentThread(machine);
        }
        sem_post(&answered);
    }
    return nothing;
}

JNIEXPORT void JAVA(upAttached)(JNIEnv *env, jclass class, jlong calls) {
    pthread_t thread;
    if (machine == NULL) {
        if ((*env)->GetJavaVM(env, &machine) != JNI_OK) return;
        sem_init(&asked, 0, 0);
        sem_init(&answered, 0, 0);
        pthread_create(&thread, NULL, attached, NULL);
    }
    wanted = calls;
    sem_post(&asked);
    sem_wait(&answered);
}

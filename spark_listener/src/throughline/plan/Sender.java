package throughline.plan;

import java.io.IOException;
import java.net.MalformedURLException;
import java.net.SocketTimeoutException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.apache.spark.SparkConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends events in their order, from a bounded queue, in a thread of its own. An event that the receiver does not take is
 * sent again for a limited time, unless the receiver refuses it. What is lost is counted.
 */
final class Sender {
  private static final Logger LOG = LoggerFactory.getLogger(PlanListener.class);
  private static final String SLOW = "the receiver is slow or away";
  private static final long STACK = 256L << 20;
  private static final int MAX_ATTEMPTS = 6;
  private static final long FIRST_PAUSE = 250;
  private static final Supplier<String> END = () -> null;
  private final Transport transport;
  private final BlockingQueue<Supplier<String>> queue;
  private final long retryNanos;
  private final AtomicInteger waiting = new AtomicInteger();
  private final AtomicInteger lost = new AtomicInteger();
  private volatile String reason = SLOW;
  /** Whether the receiver seems to be away: then nothing is sent twice, and the application's end does not wait. */
  private volatile boolean away;
  /** When the receiver took the last event. */
  private volatile long taken = System.nanoTime();
  private volatile boolean closed;

  Sender(SparkConf conf) {
    transport = new Transport(conf);
    queue = new ArrayBlockingQueue<>(conf.getInt("spark.throughline.plan.queue", 256));
    retryNanos = TimeUnit.MILLISECONDS.toNanos(conf.getInt("spark.throughline.plan.retryMillis", 30_000));
    Thread sender = new Thread(null, this::work, "throughline-plan", STACK);
    sender.setDaemon(true);
    sender.start();
  }

  /** Adds an event, which is written when its turn comes. */
  void offer(Supplier<String> event) {
    waiting.incrementAndGet();
    if (!queue.offer(event)) {
      waiting.decrementAndGet();
      lose(SLOW);
    }
  }

  /** How many events were lost so far. */
  int lost() {
    return lost.get();
  }

  boolean isClosed() {
    return closed;
  }

  /**
   * Waits until the queue is sent, for a limited time and as long as the receiver takes it; the thread ends after the
   * last event. If events are missing then, `report` makes an event of their number.
   */
  void close(long nanos, IntFunction<String> report) {
    long began = System.nanoTime();
    try {
      while (waiting.get() > 0 && !away && System.nanoTime() - began < nanos) {
        Thread.sleep(5);
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
    closed = true;
    int missing = lost() + waiting.get();
    if (missing > 0) {
      LOG.warn("{} plans did not reach Throughline: {}", missing, reason);
      boolean isThere = !away && (waiting.get() == 0 || taken - began > 0);
      try {
        if (isThere) {
          transport.send(report.apply(missing));
        }
      } catch (Throwable again) {
        LOG.warn("Throughline does not know their number: {}", again.getClass().getName());
      }
    }
    queue.offer(END); // wakes the thread; with a full queue it is awake
  }

  private void work() {
    while (!closed || !queue.isEmpty()) {
      try {
        Supplier<String> event = queue.take();
        if (event != END) {
          try {
            send(event.get());
          } finally {
            waiting.decrementAndGet();
          }
        }
      } catch (Throwable problem) {
        lose(problem.getClass().getName());
      }
    }
  }

  private void send(String event) throws InterruptedException {
    long began = System.nanoTime();
    for (int attempt = 1; ; attempt++) {
      try {
        transport.send(event);
        away = false;
        taken = System.nanoTime();
        return;
      } catch (Throwable problem) {
        boolean isFinal = problem instanceof Transport.Refused
            ? ((Transport.Refused) problem).isFinal
            : !(problem instanceof IOException) || problem instanceof MalformedURLException;
        long pause = FIRST_PAUSE << (attempt - 1);
        boolean isLate = System.nanoTime() - began + TimeUnit.MILLISECONDS.toNanos(pause) > retryNanos;
        if (isFinal || away && attempt == 1 || attempt == MAX_ATTEMPTS || isLate) {
          away = true;
          lose(problem instanceof Transport.Refused ? problem.getMessage() : problem.getClass().getName());
          return;
        }
        away = attempt > 1 || problem instanceof SocketTimeoutException;
        Thread.sleep(pause);
      }
    }
  }

  /** Counts a lost event. Only the first one is logged, so that the job's log stays readable. */
  private void lose(String why) {
    if (lost.getAndIncrement() == 0) {
      reason = why;
      LOG.warn("a plan was not sent to Throughline, and further ones are only counted: {}", why);
    }
  }
}

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import java.util.concurrent.atomic.LongAdder;

/**
 * A small service that knows nothing of traces: the OpenTelemetry Java agent makes spans of its
 * methods. It answers requests it makes up itself, and writes how often each method ran to a file.
 */
public final class Client {
  private static final LongAdder SERVED = new LongAdder();
  private static final LongAdder LOADED = new LongAdder();
  private static final LongAdder RENDERED = new LongAdder();

  /** Arguments: seconds, workers, load-ms, render-ms, file to wait for, report. */
  public static void main(String[] args) throws Exception {
    long seconds = Long.parseLong(args[0]);
    int workers = Integer.parseInt(args[1]);
    Client client = new Client(Long.parseLong(args[2]), Long.parseLong(args[3]));
    Path begin = Path.of(args[4]);
    Path report = Path.of(args[5]);

    Files.createFile(Path.of(report + ".ready"));
    while (!Files.exists(begin)) {
      Thread.sleep(10);
    }
    long deadline = System.nanoTime() + seconds * 1_000_000_000L;
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < workers; i++) {
      Thread thread =
          new Thread(
              () -> {
                while (System.nanoTime() < deadline) {
                  client.serve();
                }
              });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    StringJoiner json = new StringJoiner(", ", "{", "}");
    json.add(did("serve", SERVED)).add(did("load", LOADED)).add(did("render", RENDERED));
    Files.writeString(report, json.toString());
  }

  private static String did(String method, LongAdder calls) {
    return String.format("\"Client.%s\": {\"calls\": %d}", method, calls.sum());
  }

  private final long loadMillis;
  private final long renderMillis;

  private Client(long loadMillis, long renderMillis) {
    this.loadMillis = loadMillis;
    this.renderMillis = renderMillis;
  }

  void serve() {
    SERVED.increment();
    load();
    render();
  }

  void load() {
    LOADED.increment();
    pause(loadMillis);
  }

  void render() {
    RENDERED.increment();
    pause(renderMillis);
  }

  private static void pause(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}

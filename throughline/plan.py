"""Spark's own plans from a notebook or a program, where no jar can be added to the cluster.

    from throughline import plan

    with plan.watch(spark, url="https://NAME.azurewebsites.net", key=key):
        frame.write.saveAsTable("orders")

The classes of throughline-plan.jar, which is in the wheel, are loaded into the running driver. So the same events are
sent as with `spark.jars` and `spark.extraListeners`. docs/concepts/exact-lineage.md says where this does not work.
"""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from shared.errors import Misconfigured
from throughline.plan_jar import LISTENER_CLASS, plan_jar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TRANSPORT = "spark.throughline.plan.transport."
_LISTENERS_TRANSPORT = "spark.openlineage.transport.type"


class Watch:
    """Sends the plans of a Spark application until `stop`, or until the application ends. Made by `watch`.

    `added` is False where the application had the plan listener before: then that one stays, and `stop` does nothing.
    """

    def __init__(self, context: Any, listener: Any) -> None:
        self._context = context
        self._listener = listener

    @property
    def added(self) -> bool:
        """Whether this watch sends the plans, and not a listener that was there before."""
        return self._listener is not None

    def stop(self) -> None:
        """Send what the writes so far have given, for 10 seconds at most, and stop. Nothing happens the second time."""
        listener, self._listener = self._listener, None
        if listener is not None and not self._context.isStopped():
            self._context.listenerBus().waitUntilEmpty()
            listener.close()  # it stays where it is: Spark's bus can lock where the last listener of a queue is removed

    def __enter__(self) -> Self:
        """Return the watch, which is on already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self.stop()


def watch(spark: "SparkSession", *, url: str = "", key: str = "", namespace: str = "") -> Watch:
    """Send the plan of each write of this application, of all its sessions, from now on.

    `url` is the receiver, `key` its function key, `namespace` that of the jobs. What is not given is as
    `spark.openlineage.*` and `spark.throughline.plan.*` say. A second watch of an application leaves the first one on.

    Raises throughline.Misconfigured where the driver can't be reached (Spark Connect; clusters that forbid py4j), where
    the jar can't be read there, and where no receiver is known.
    """
    context, gateway = _driver(spark)
    if any(
        listener.getClass().getName() == LISTENER_CLASS and listener.isOn()
        for listener in context.listenerBus().listeners()
    ):
        return Watch(context, None)
    conf = context.getConf()
    properties = {
        **({"type": "http", "url": url} if url else {}),
        **({"headers.x-functions-key": key} if key else {}),
    }
    for name, value in properties.items():
        conf.set(f"{_TRANSPORT}{name}", value)
    if namespace:
        conf.set("spark.openlineage.namespace", namespace)
    if not url and not conf.contains(_LISTENERS_TRANSPORT) and not conf.contains(f"{_TRANSPORT}type"):
        raise Misconfigured(
            "No receiver is known: pass url= and key= to watch(), or set spark.openlineage.transport.* "
            "(`throughline config` prints them)"
        )
    listener = _listener(context, gateway, conf)
    context.addSparkListener(listener)
    return Watch(context, listener)


def _driver(spark: "SparkSession") -> tuple[Any, Any]:
    """The Scala SparkContext, and py4j's gateway to the driver's JVM."""
    try:
        context = spark.sparkContext
        return context._jsc.sc(), context._gateway  # noqa: SLF001 - PySpark has no public way to its driver
    except Exception as error:  # Spark Connect and guarded clusters raise errors of their own
        raise Misconfigured(
            "The driver of this session can't be reached from Python, as with Spark Connect, serverless compute or "
            "shared access mode: add throughline-plan.jar to the cluster (`throughline config`)"
        ) from error


def _listener(context: Any, gateway: Any, conf: Any) -> Any:
    """The plan listener, its classes loaded from the jar beside those of the application."""
    jar, jvm = plan_jar(), gateway.jvm
    file = jvm.java.io.File(str(jar))
    if not file.canRead():
        raise Misconfigured(
            f"Spark's driver can't read {jar}, which is on another machine or of another user: add "
            "throughline-plan.jar to the cluster (`throughline config`)"
        )
    urls = gateway.new_array(jvm.java.net.URL, 1)
    urls[0] = file.toURI().toURL()
    loader = jvm.java.net.URLClassLoader(urls, context.getClass().getClassLoader())
    types = gateway.new_array(jvm.java.lang.Class, 1)
    types[0] = conf.getClass()
    arguments = gateway.new_array(jvm.java.lang.Object, 1)
    arguments[0] = conf
    return loader.loadClass(LISTENER_CLASS).getConstructor(types).newInstance(arguments)

import org.apache.spark.sql.SparkSessionExtensions;
import scala.Function1;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Delta's session extension under another name, as on Databricks. The listener looks for Delta's own name, and
 * drops events where it finds it.
 */
public class DatabricksDelta extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    @Override
    @SuppressWarnings("unchecked")
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        try {
            ClassLoader loader = Thread.currentThread().getContextClassLoader();
            Object delta = Class.forName("io.delta.sql.DeltaSparkSessionExtension", true, loader)
                .getDeclaredConstructor().newInstance();
            ((Function1<SparkSessionExtensions, BoxedUnit>) delta).apply(extensions);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("Delta is not on the class path", error);
        }
        return BoxedUnit.UNIT;
    }
}

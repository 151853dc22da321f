import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/** Starts Elasticsearch without its launcher, which needs the complete distribution. Arguments: the folder, the HTTP port. */
public final class ElasticsearchNode {
    public static void main(String[] arguments) throws Exception {
        LogConfigurator.configureESLogging();
        Settings settings = Settings.builder()
                .put("path.home", arguments[0])
                .put("cluster.name", "pyrs")
                .put("discovery.type", "single-node")
                .put("network.host", "127.0.0.1")
                .put("http.port", arguments[1])
                .put("transport.port", "0")
                .put("cluster.routing.allocation.disk.threshold_enabled", false)
                .build();
        Environment environment = InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "pyrs");
        // No exports to modules are needed, because the server is on the class path.
        PluginsLoader loader = PluginsLoader.createPluginsLoader(
                PluginsLoader.loadModulesBundles(environment.modulesDir()), Set.of(), Map.of(), false);
        new Node(environment, loader).start();
        new CountDownLatch(1).await();
    }
}

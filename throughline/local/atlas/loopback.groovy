// Has the ZooKeeper of Atlas' embedded Solr listen on loopback: Solr's test server asks for every interface.
// Run once, on installing, with the folder for the changed class; the war brings Groovy and Javassist.
import javassist.ClassPool

def config = ClassPool.default.get("org.apache.zookeeper.server.ServerConfig")
config.getDeclaredMethod("getClientPortAddress").insertAfter(
    '$_ = new java.net.InetSocketAddress(java.net.InetAddress.getLoopbackAddress(), $_.getPort());')
config.writeFile(args[0])

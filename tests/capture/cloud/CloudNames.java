import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * A file system that answers to any URI (abfss, wasbs, OneLake) and keeps its files in a local folder,
 * so that Spark and its listener speak cloud names without a cloud. The folder is the property
 * throughline.cloud.folder; below it each scheme and authority has a folder of its own.
 */
public class CloudNames extends FileSystem {
    private URI uri;
    private String folder;
    private Path workingDirectory;
    private FileSystem disk;

    @Override
    public void initialize(URI name, Configuration conf) throws IOException {
        super.initialize(name, conf);
        setConf(conf);
        String authority = name.getAuthority() == null ? "/" : name.getAuthority();  // dbfs:/ has none
        uri = URI.create(name.getScheme() + "://" + authority);
        folder = conf.get("throughline.cloud.folder") + "/" + name.getScheme() + "/" + name.getAuthority();
        workingDirectory = new Path(uri.toString() + "/");
        disk = FileSystem.getLocal(conf).getRaw();
    }

    private Path onDisk(Path path) {
        return new Path(folder + makeQualified(path).toUri().getPath());
    }

    private FileStatus inCloud(FileStatus status) {
        String name = status.getPath().toUri().getPath().substring(folder.length());
        Path path = new Path(uri.getScheme(), uri.getAuthority(), name.isEmpty() ? "/" : name);
        return new FileStatus(status.getLen(), status.isDirectory(), status.getReplication(), status.getBlockSize(),
            status.getModificationTime(), path);
    }

    @Override
    public URI getUri() {
        return uri;
    }

    @Override
    public Path getWorkingDirectory() {
        return workingDirectory;
    }

    @Override
    public void setWorkingDirectory(Path path) {
        workingDirectory = makeQualified(path);
    }

    @Override
    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
        return disk.open(onDisk(path), bufferSize);
    }

    @Override
    public FSDataOutputStream create(Path path, FsPermission permission, boolean overwrite, int bufferSize,
            short replication, long blockSize, Progressable progress) throws IOException {
        return disk.create(onDisk(path), permission, overwrite, bufferSize, replication, blockSize, progress);
    }

    @Override
    public FSDataOutputStream append(Path path, int bufferSize, Progressable progress) throws IOException {
        return disk.append(onDisk(path), bufferSize, progress);
    }

    @Override
    public boolean rename(Path from, Path to) throws IOException {
        return disk.rename(onDisk(from), onDisk(to));
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        return disk.delete(onDisk(path), recursive);
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        return disk.mkdirs(onDisk(path), permission);
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        return inCloud(disk.getFileStatus(onDisk(path)));
    }

    @Override
    public FileStatus[] listStatus(Path path) throws FileNotFoundException, IOException {
        FileStatus[] found = disk.listStatus(onDisk(path));
        for (int i = 0; i < found.length; i++) {
            found[i] = inCloud(found[i]);
        }
        return found;
    }
}

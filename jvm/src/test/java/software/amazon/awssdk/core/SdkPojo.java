package software.amazon.awssdk.core;

import java.util.List;

/** Test double with the methods that the converter uses. */
public interface SdkPojo {
    List<SdkField<?>> sdkFields();
}

package software.amazon.awssdk.core;

import java.util.List;

/** As much of the SDK's as the converter uses. */
public interface SdkPojo {
    List<SdkField<?>> sdkFields();
}

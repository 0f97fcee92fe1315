extension URLSessionTask {
    /// The default priority: 0.5.
    public class var defaultPriority: Float { 0.5 }
    /// A low priority, above the minimum.
    public class var lowPriority: Float { 0.25 }
    /// A high priority, below the maximum.
    public class var highPriority: Float { 0.75 }
}

/// The byte count if the size is unknown: −1.
public let NSURLSessionTransferSizeUnknown: Int64 = -1

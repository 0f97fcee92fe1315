extension URLSessionTask {
    /// The priority of a task unless set: 0.5 of 0 to 1.
    public class var defaultPriority: Float { 0.5 }
    /// Lower than usual, above the least.
    public class var lowPriority: Float { 0.25 }
    /// Higher than usual, below the most.
    public class var highPriority: Float { 0.75 }
}

/// The byte count of something whose size nobody announced: −1.
public let NSURLSessionTransferSizeUnknown: Int64 = -1

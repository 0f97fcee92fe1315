internal import CTestTLS

/// A failed OpenSSL call, with OpenSSL's message.
package struct OpenSSLError: Error, CustomStringConvertible {
    package let operation: String
    package let reason: String

    /// Takes the last error of this thread.
    init(_ operation: String) {
        self.operation = operation
        self.reason = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            ctt_take_error(start, buffer.count)
            return String(cString: start)
        }
    }

    package var description: String { "\(operation): \(reason)" }
}

/// Runs a call that hands out allocated bytes, and moves them into an array.
func takingBytes(_ operation: String, _ body: (inout ctt_bytes) -> Int32) throws -> [UInt8] {
    var bytes = ctt_bytes(bytes: nil, count: 0)
    guard body(&bytes) == 1 else { throw OpenSSLError(operation) }
    defer { ctt_bytes_free(bytes) }
    return Array(UnsafeBufferPointer(start: bytes.bytes, count: bytes.count))
}

/// Why a message bus, or a program on it, did not complete a request.
package enum BusFailure: Error, Hashable, Sendable {
    /// libdbus is not installed. With the name of its file.
    case libraryMissing(String)
    /// No bus listens there; nil if the environment allows none that may be used.
    case busMissing(address: String?)
    /// The bus has ended the connection, or there is no reply.
    case connectionLost
    /// The bus or the program refused a call. With the name of the error.
    case refused(String)
    /// A text that D-Bus cannot carry.
    case invalidArgument
    /// The process has no descriptor, no thread or no memory left.
    case noResources
}

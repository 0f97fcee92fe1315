internal import LoadingTransport

extension URLSession {
    /// Whether the secrets of TLS connections are written to the file that the environment variable `SSLKEYLOGFILE`
    /// names, with which tools like Wireshark decrypt recorded traffic. True by default; without the variable nothing
    /// is written, and this has no effect.
    ///
    /// A program whose traffic must stay secret from the user who sets its environment sets this to false before it
    /// makes its first session. It may be read and set on any thread, and applies to all sessions of the process.
    /// Connections whose handshake is over when it is set to false have written their secrets already.
    ///
    /// All connections over TLS and QUIC append lines in the NSS key log format. A new file has mode 0600. If the file
    /// cannot be opened, a message says so once, on standard error or as ``URLSessionEvent/Name/message`` to
    /// ``eventHandler``, and loads go on without it. The variable is read once, with the first connection, and ignored
    /// in a program that runs with other privileges than the user who started it.
    ///
    /// An OpenSSL that was built with `enable-sslkeylog`, which exists from version 3.5 on and is off by default,
    /// writes the file by itself, also if this is false. Only removing the variable from the environment, at the start
    /// of the program, prevents that.
    ///
    /// Transfers of background sessions run in another process. It inherits the variable from the program that starts
    /// it, unless this is false then.
    @_disfavoredOverload
    public static var writesTLSKeys: Bool {
        get { TLSKeyLog.isAllowed }
        set { TLSKeyLog.isAllowed = newValue }
    }
}

extension LoadError {
    /// `NSLocalizedDescription`: the text of the code, except that a missing library is named.
    package var message: String {
        if case .library(let text) = cause { return "A library could not be loaded: \(text)" }
        return Self.description(ofCode: code)
    }

    /// The `NSLocalizedDescription` of a code in `NSURLErrorDomain` (ERR-4).
    package static func description(ofCode code: Int) -> String {
        switch code {
        case -995: "background session requires a shared container"
        case -996: "background session in use by another process"
        case -997: "Lost connection to background transfer service"
        case -999: "cancelled"
        case -1000: "bad URL"
        case -1001: "The request timed out."
        case -1002: "unsupported URL"
        case -1003, -1006: "A server with the specified hostname could not be found."
        case -1004: "Could not connect to the server."
        case -1005: "The network connection was lost."
        case -1007: "too many HTTP redirects"
        case -1008: "resource unavailable"
        case -1009: "The Internet connection appears to be offline."
        case -1010: "redirected to nonexistent location"
        case -1011: "There was a bad response from the server."
        case -1012: "user cancelled authentication"
        case -1013: "user authentication required"
        case -1014: "zero byte resource"
        case -1015: "cannot decode raw data"
        case -1016: "cannot decode content data"
        case -1017: "cannot parse response"
        case -1018: "International roaming is currently off."
        case -1019: "No data connection is possible during a call."
        case -1020: "A data connection is not currently allowed."
        case -1021: "request body stream exhausted"
        case -1022: "App Transport Security requires a secure connection."
        case -1100: "The requested file does not exist."
        case -1101: "file is directory"
        case -1102: "You do not have permission to access the requested resource."
        case -1103: "resource exceeds maximum size"
        case -1104: "file is outside of the safe area"
        case -1200: "A TLS error prevented a secure connection to the server."
        case -1201: "The certificate for this server has expired."
        case -1202: "The certificate for this server is invalid."
        case -1203: "The certificate for this server was signed by an unknown authority."
        case -1204: "The certificate for this server is not yet valid."
        case -1205: "The server did not accept the certificate."
        case -1206: "The server requires a client certificate."
        case -2000: "can’t load from network"
        case -3000: "cannot create file"
        case -3001: "cannot open file"
        case -3002: "cannot close file"
        case -3003: "cannot write to file"
        case -3004: "cannot remove file"
        case -3005: "cannot move file"
        case -3006: "download decoding failed in mid-stream"
        case -3007: "download decoding failed to complete"
        default: "unknown error"
        }
    }
}

import Foundation
import FoundationNetworking
import Testing

/// Sorts failures by the codes of CFNetwork, as older programs do.
private func isOffline(_ error: any Error) -> Bool {
    let error = error as NSError
    if error.domain == kCFErrorDomainCFNetwork as String, let code = CFNetworkErrors(rawValue: Int32(error.code)) {
        let offline: [CFNetworkErrors] = [.cfHostErrorHostNotFound, .cfurlErrorNotConnectedToInternet]
        return offline.contains(code)
    }
    return error.code == CFNetworkErrors.cfurlErrorNotConnectedToInternet.rawValue
        || error.code == Int(CFNetworkErrors.cfurlErrorNetworkConnectionLost.rawValue)
}

@Suite struct CFNetworkErrorTests {
    // ERR-1
    @Test("codes have the numbers of URLError") func codes() {
        #expect(isOffline(URLError(.notConnectedToInternet)))
        #expect(isOffline(URLError(.networkConnectionLost)))
        #expect(!isOffline(URLError(.timedOut)))
        #expect(isOffline(NSError(domain: "kCFErrorDomainCFNetwork", code: 1)))
        #expect(!isOffline(NSError(domain: "kCFErrorDomainCFNetwork", code: 306)))
        #expect(CFNetworkErrors(rawValue: 310) == .cfErrorHTTPSProxyConnectionFailure)
        #expect(CFNetworkErrors.cfurlErrorCannotMoveFile.rawValue == Int32(URLError.Code.cannotMoveFile.rawValue))
    }
}

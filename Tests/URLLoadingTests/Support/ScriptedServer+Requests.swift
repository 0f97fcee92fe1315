import Foundation
import TestSupport

extension ScriptedServer {
    /// Waits until the scripts have read a number of requests.
    func waitForRequests(_ count: Int, on connection: Int = 0) async throws {
        try await self.connection(connection).waitForRequests(count)
    }
}

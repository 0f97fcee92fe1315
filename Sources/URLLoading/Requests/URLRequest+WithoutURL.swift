internal import Foundation

extension URLRequest {
    /// What a task is made of that is to fail.
    static var withoutURL: URLRequest {
        var request = URLRequest(url: URL(fileURLWithPath: "/"))
        request.url = nil
        return request
    }
}

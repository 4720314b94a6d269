import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { CURRENT_PROTOCOL_VERSION } from '../protocol';

export const OPENAPI_PATH = 'openapi.json';
export const DOCS_PATH = 'docs';

/** The OpenAPI document of all routes. */
export function openApiDocument(app: INestApplication): OpenAPIObject {
  const settings = new DocumentBuilder()
    .setTitle('Redis Stream Coordinator')
    .setDescription(
      'Coordinates sharded Redis Streams. Every error has one shape: `status`, `errorCode`, `message`, `retryable`, `details`. ' +
        '`X-Request-Id` is taken or made, returned and logged. The protocol behind these routes is docs/protocol.md.',
    )
    .setVersion(String(CURRENT_PROTOCOL_VERSION))
    .addTag('administration', 'Streams and groups')
    .addTag('membership', 'What consumers call')
    .addTag('routing', 'What publishers call')
    .addTag('monitoring', 'Read only')
    .addTag('health', 'For load balancers and orchestrators')
    .build();
  return SwaggerModule.createDocument(app, settings, {
    operationIdFactory: (_controller, method) => method,
  });
}

/** Serves the document at /openapi.json, and a page to browse it at /docs whose files are all local. */
export function serveOpenApi(app: INestApplication): void {
  const document = openApiDocument(app);
  SwaggerModule.setup(DOCS_PATH, app, document, { jsonDocumentUrl: OPENAPI_PATH, raw: ['json'] });
}
